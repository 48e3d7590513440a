import type { Caller } from '../../harness/caller.ts'
import type { CartOutput, Line, Seen } from './cart-model.ts'

/** A caller with a cart. Several clients may act for it, and they share what each has seen. */
export class CartCaller {
  /** The name in the history. */
  readonly name: string
  readonly caller: Caller
  /** The cart at the last read of any client. */
  cart: Seen | undefined
  /** The versions of the lines seen, by id. Some lines are gone. */
  readonly lines = new Map<string, number>()

  constructor(name: string, caller: Caller) {
    this.name = name
    this.caller = caller
  }

  learn({ cart, line }: CartOutput): void {
    if (cart?.id) this.cart = { id: cart.id, version: cart.version }
    for (const seen of cart?.lines ?? []) this.#see(seen)
    if (line) this.#see(line)
  }

  #see({ id, version }: Line): void {
    if (id !== undefined) this.lines.set(id, version)
  }
}
