import { addressKey } from '@mortise/module-sdk'

/** Limits the concurrent uses of something per address (IPv6: /64). */
export class ConcurrencyLimit {
  /** The limit per address; Infinity for none. */
  readonly most: number
  readonly #taken = new Map<string, number>()

  /** @param most 0: no limit */
  constructor(most: number) {
    this.most = most === 0 ? Number.POSITIVE_INFINITY : most
  }

  /**
   * @returns a function that releases the use, to be called once; undefined if the address is at
   * its limit
   */
  take(address: string): (() => void) | undefined {
    const key = addressKey(address)
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
