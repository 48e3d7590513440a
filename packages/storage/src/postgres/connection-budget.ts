/** For how long no more connections are tried after one was refused, in milliseconds. */
const HOLD_MS = 2_000
/** The fewest that a host can do with: one for reads, one for transactions. */
const FEWEST = 2

/**
 * How many lasting connections a host may have. Where the server refuses one, the host makes do with those that it has
 * for a while, less one: so others find room now and then, a command or a host that starts.
 */
export class Room {
  readonly #size: number
  #held = 0
  #until = 0

  /** @param size how many there are at most, from 2 */
  constructor(size: number) {
    this.#size = size
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
    this.#held = Math.max(FEWEST, open - 1)
    // Several hosts do not all knock at once.
    this.#until = performance.now() + HOLD_MS * (0.75 + Math.random() / 2)
  }

  get #limit(): number {
    return performance.now() < this.#until ? Math.min(this.#size, this.#held) : this.#size
  }
}
