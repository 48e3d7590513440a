import { addressKey } from '@mortise/module-sdk'

/** How many of something each address (IPv6: /64) has at once. */
export class ConcurrencyLimit {
  /** The most that one may have; Infinity for any number. */
  readonly most: number
  readonly #taken = new Map<string, number>()

  /** @param most 0: any number */
  constructor(most: number) {
    this.most = most === 0 ? Number.POSITIVE_INFINITY : most
  }

  /** @returns what gives it back, to be called once; undefined where the address has its share */
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
