/** The clock may go back this far unnoticed, in milliseconds. */
const TOLERANCE = 1_000

/** Notices when a clock goes back, so that its caller can make delayed work due. */
export class ClockWatch {
  #ahead = Number.POSITIVE_INFINITY

  /**
   * Whether the clock went back since the last call. True on the first call, which has no earlier
   * time to compare with.
   * @param now the time by this clock, in epoch milliseconds
   */
  wentBack(now: number): boolean {
    const ahead = now - performance.now()
    const wentBack = ahead < this.#ahead - TOLERANCE
    this.#ahead = ahead
    return wentBack
  }
}
