/** How long no new connections are tried after a refused one, in milliseconds. */
const HOLD_MS = 2_000
/** The fewest that a host needs: one for reads, one for transactions. */
const FEWEST = 2

/**
 * The number of lasting connections that a host may have. After the server refuses one, the host
 * keeps its current number less one for a while, which leaves room for a command or a host that
 * starts.
 */
export class Room {
  readonly #size: number
  #held = 0
  #until = 0

  /** @param size the largest number, at least 2 */
  constructor(size: number) {
    this.#size = size
  }

  /** The number of them for single reads. */
  get readers(): number {
    return Math.max(1, Math.floor(this.#limit / 4))
  }

  /** The number of them for transactions. */
  get transactions(): number {
    return this.#limit - this.readers
  }

  /** Called when the server refuses a connection while this many are open. */
  refused(open: number): void {
    this.#held = Math.max(FEWEST, open - 1)
    // Random, so that several hosts do not retry at once.
    this.#until = performance.now() + HOLD_MS * (0.75 + Math.random() / 2)
  }

  get #limit(): number {
    return performance.now() < this.#until ? Math.min(this.#size, this.#held) : this.#size
  }
}
