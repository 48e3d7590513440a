/** No clock is set back by more than this, in milliseconds, unless it was wrong. */
const MOST = 86_400_000

/** A clock in epoch milliseconds that never goes back, unless by so much that it was wrong before. */
export class MonotonicClock {
  readonly #source: () => number
  readonly #onHold: (time: number) => void
  #last: number
  #isHeld = false

  /**
   * @param source may go back
   * @param from the newest known time
   * @param onHold called when the source has gone back, with the time that holds until it catches up
   */
  constructor(source: () => number, from = 0, onHold: (time: number) => void = () => {}) {
    this.#source = source
    this.#onHold = onHold
    this.#last = from
  }

  now(): number {
    const time = Math.floor(this.#source())
    if (time >= this.#last || time < this.#last - MOST) {
      this.#last = time
      this.#isHeld = false
    } else if (!this.#isHeld) {
      this.#isHeld = true
      this.#onHold(this.#last)
    }
    return this.#last
  }
}
