/** For how long after a write was refused the next one counts as the same trouble, in milliseconds. */
const LINGER = 10_000

/** The writes for which there was no room, as they come. */
export class RecentRefusals {
  #count = 0
  #reason = ''
  #until = Number.NEGATIVE_INFINITY

  /** How many there were. */
  get count(): number {
    return this.#count
  }

  /** Why the last one was refused; undefined once that is a while ago. */
  get reason(): string | undefined {
    return performance.now() < this.#until ? this.#reason : undefined
  }

  add(reason: string, linger = LINGER): void {
    this.#count += 1
    this.#reason = reason
    this.#until = performance.now() + linger
  }
}
