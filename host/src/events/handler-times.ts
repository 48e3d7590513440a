import { now, type Sql, sql, TOLERANCE } from '@mortise/module-sdk'
import { SPREAD } from '@mortise/module-sdk/host'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** In milliseconds. */
export interface HandlerTimes {
  /** How long a lease lasts without a sign of life from its host; PostgreSQL only. */
  readonly term: number
  /** How often to poll for what another host has left. The cursor moves at least as often. */
  readonly look: number
  /** Pause before the next attempt while the database is unavailable. */
  readonly pause: number
  /** Pauses before the next attempts at a failed event or job; there is none after the last. */
  readonly retries: readonly number[]
}

export const handlerTimes: HandlerTimes = {
  term: 10 * SECOND,
  look: 5 * SECOND,
  pause: SECOND,
  retries: [
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
  ],
}

/**
 * Whether the time `until` is still ahead. If it is more than `term` milliseconds ahead, a wrong
 * clock wrote it, and it counts as expired.
 */
export const lasts = (until: Sql, term: number): Sql =>
  sql`(${until} > ${now} AND ${until} <= ${now} + ${term + TOLERANCE})`

/**
 * Whether a clock ahead of time has postponed a row with `attempts` until `time`: it is further
 * ahead than the longest pause after these attempts.
 * @param pauses as for `pauseAfter`
 */
export function isPostponed(time: Sql, pauses: readonly number[]): Sql {
  const longest = pauses.reduce(
    (cases, pause, index) => sql`${cases} WHEN ${index + 1} THEN ${Math.ceil(pause * (1 + SPREAD))}`,
    sql`CASE attempts WHEN 0 THEN 0`,
  )
  return sql`${time} > ${now} + ${TOLERANCE} + ${longest} ELSE 0 END`
}
