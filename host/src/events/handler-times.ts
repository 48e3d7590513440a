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
  /** Pauses before the next attempts at a failed event; after the last one it is a dead letter. */
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
