/** The most that a pause is longer than planned, as a share of it. */
export const SPREAD = 0.2

/**
 * The pause before the next attempt, up to a fifth longer at random, so that what failed together
 * is not tried together again.
 * @param pauses one after each failed attempt but the last
 * @param attempts the failed attempts so far
 * @returns milliseconds; undefined after the last attempt
 */
export function pauseAfter(pauses: readonly number[], attempts: number): number | undefined {
  const pause = pauses[attempts - 1]
  return pause && Math.round(pause * (1 + SPREAD * Math.random()))
}
