const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** After each failed attempt, in milliseconds: those of Standard Webhooks, three days in all. */
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

/** The largest delay that a receiver may ask for. */
const LONGEST = 24 * HOUR

/**
 * The delay after attempt number `attempt`, from 1. A random part of up to a fifth keeps deliveries
 * that failed together apart. Undefined after the last attempt.
 * @param retryAfter the receiver's `Retry-After`, in seconds
 */
export function pauseAfter(attempt: number, retryAfter = 0): number | undefined {
  const delay = retryDelays[attempt - 1]
  if (delay === undefined) return undefined
  return Math.max(Math.round(delay * (1 + Math.random() / 5)), Math.min(retryAfter * SECOND, LONGEST))
}
