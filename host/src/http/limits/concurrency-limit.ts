/** Limits the concurrent uses of something per key: an address, or a caller. */
export class ConcurrencyLimit {
  /** The limit per key; Infinity for none. */
  readonly most: number
  readonly #taken = new Map<string, number>()

  /** @param most 0: no limit */
  constructor(most: number) {
    this.most = most === 0 ? Number.POSITIVE_INFINITY : most
  }

  /**
   * @returns a function that releases the use, to be called once; undefined if the key is at its
   * limit
   */
  take(key: string): (() => void) | undefined {
    const taken = this.#taken.get(key) ?? 0
    if (taken >= this.most) return undefined
    this.#taken.set(key, taken + 1)
    return () => {
      const left = (this.#taken.get(key) as number) - 1
      if (left === 0) this.#taken.delete(key)
      else this.#taken.set(key, left)
    }
  }
}
