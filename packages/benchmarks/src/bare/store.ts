import type { Static } from '@sinclair/typebox'
import type { BareCaller } from './callers.ts'
import type { Wanted } from './purchases.ts'
import type { Cart, CartItem, Purchase } from './schemas.ts'

type Maybe<Result> = Result | Promise<Result>

/** The database of a bare server. SQLite reads synchronously, PostgreSQL asynchronously. */
export interface BareStore {
  findGuest(token: string): Maybe<BareCaller | undefined>
  showCart(caller: BareCaller): Maybe<Static<typeof Cart>>
  addItem(caller: BareCaller, wanted: Wanted): Promise<{ item: Static<typeof CartItem>; added: boolean }>
  createPurchase(caller: BareCaller, wanted: readonly Wanted[]): Promise<Static<typeof Purchase>>
  close(): Maybe<void>
}
