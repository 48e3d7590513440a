/** How long after a refused write the next one counts as the same trouble, in milliseconds. */
const LINGER = 10_000

/** Counts the writes refused for lack of space. */
export class RecentRefusals {
  #count = 0
  #reason = ''
  #until = Number.NEGATIVE_INFINITY

  /** Refusals so far. */
  get count(): number {
    return this.#count
  }

  /** The reason of the last refusal; undefined after a while. */
  get reason(): string | undefined {
    return performance.now() < this.#until ? this.#reason : undefined
  }

  add(reason: string, linger = LINGER): void {
    this.#count += 1
    this.#reason = reason
    this.#until = performance.now() + linger
  }
}
