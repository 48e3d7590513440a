/** After how long without a refusal one connection more is tried, in milliseconds. */
const RISE_MS = 5_000
/** The fewest that a host can do with: one for reads, one for transactions. */
const FEWEST = 2

/**
 * How many lasting connections a host may have. Where the server refuses one, that is half of those that are open, so
 * that other hosts get theirs; then one more every few seconds.
 */
export class Room {
  readonly #size: number
  #base: number
  #since = 0
  #rise = RISE_MS

  /** @param size how many there are at most, from 2 */
  constructor(size: number) {
    this.#size = size
    this.#base = size
  }

  /** How many of them are for single reads. */
  get readers(): number {
    return Math.max(1, Math.floor(this.#limit / 4))
  }

  /** How many of them are for transactions. */
  get transactions(): number {
    return this.#limit - this.readers
  }

  /** The server has refused one more beside so many. */
  refused(open: number): void {
    this.#base = Math.max(FEWEST, Math.floor(open / 2))
    this.#since = performance.now()
    // Several hosts do not all knock at once.
    this.#rise = RISE_MS * (0.75 + Math.random() / 2)
  }

  get #limit(): number {
    return Math.min(this.#size, this.#base + Math.floor((performance.now() - this.#since) / this.#rise))
  }
}
