/** The acknowledged writes of one caller. */
export class Acknowledged {
  /** By product. */
  readonly #quantities = new Map<string, number>()
  readonly #purchases = new Set<string>()

  get purchases(): ReadonlySet<string> {
    return this.#purchases
  }

  added(product: string, quantity: number): void {
    this.#quantities.set(product, (this.#quantities.get(product) ?? 0) + quantity)
  }

  purchased(id: string): void {
    this.#purchases.add(id)
  }

  /** The differences from a cart that no client changes any more. */
  compareCart(items: readonly { readonly product: string; readonly quantity: number }[]): string[] {
    const wrong: string[] = []
    const found = new Map(items.map(({ product, quantity }) => [product, quantity]))
    if (found.size < items.length) wrong.push('a product has two lines')
    for (const product of new Set([...found.keys(), ...this.#quantities.keys()])) {
      const [is, should] = [found.get(product) ?? 0, this.#quantities.get(product) ?? 0]
      if (is !== should) wrong.push(`${is} of ${product}, and ${should} were acknowledged`)
    }
    return wrong
  }

  /** The differences from the list of all purchases. */
  comparePurchases(ids: readonly string[]): string[] {
    const found = new Set(ids)
    const lost = [...this.#purchases].filter((id) => !found.has(id))
    const unknown = ids.filter((id) => !this.#purchases.has(id))
    return [
      ...(found.size < ids.length ? [`${ids.length - found.size} purchases are listed twice`] : []),
      ...lost.map((id) => `${id} is lost`),
      ...unknown.map((id) => `${id} was never acknowledged`),
    ]
  }
}
