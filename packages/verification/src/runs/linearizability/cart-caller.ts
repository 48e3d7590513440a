import type { CartOutput, Line, Seen } from './cart-model.ts'

/** Somebody with a cart, for whom several clients may act: they know what any of them has seen. */
export class CartCaller {
  /** In the history. */
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** What the cart was, when one of them last looked. */
  cart: Seen | undefined
  /** By id, the versions of the lines that were seen, some of which are gone. */
  readonly lines = new Map<string, number>()

  constructor(name: string, headers: Readonly<Record<string, string>>) {
    this.name = name
    this.headers = headers
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
