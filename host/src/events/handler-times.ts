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

/** Random share of a pause, so that what failed together is not retried together. */
export const SPREAD = 0.1

export const spread = (pause: number): number => Math.round(pause * (1 + SPREAD * (2 * Math.random() - 1)))
