/** How far a clock may go back unnoticed, in milliseconds. */
const TOLERANCE = 1_000

/** Notices that a clock was put back, so that what it has put off meanwhile can be made due. */
export class ClockWatch {
  #ahead = Number.POSITIVE_INFINITY

  /**
   * Whether the clock was put back since the last call; true on the first call, which cannot know.
   * @param now what the clock says, in epoch milliseconds
   */
  wentBack(now: number): boolean {
    const ahead = now - performance.now()
    const wentBack = ahead < this.#ahead - TOLERANCE
    this.#ahead = ahead
    return wentBack
  }
}
