const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long after each failed attempt the next one is made, in milliseconds: those of Standard Webhooks, some three days in all. */
export const retryDelays = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

/** The most that a receiver may ask for. */
const LONGEST = 24 * HOUR

/**
 * How long to wait after the attempt with this number, from 1: up to a fifth longer than said, by chance, so that what
 * failed together is not sent together; undefined where it was the last one.
 *
 * @param retryAfter what the receiver has asked for, in seconds
 */
export function pauseAfter(attempt: number, retryAfter = 0): number | undefined {
  const delay = retryDelays[attempt - 1]
  if (delay === undefined) return undefined
  return Math.max(Math.round(delay * (1 + Math.random() / 5)), Math.min(retryAfter * SECOND, LONGEST))
}
