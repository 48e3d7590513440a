const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** In milliseconds. */
export interface HandlerTimes {
  /** After which a host that is heard of no more is taken over from; PostgreSQL only. */
  readonly term: number
  /** How often is looked without being told, for what an operator or another host has left; and the mark is moved at least. */
  readonly look: number
  /** Until the next attempt while the database cannot be used. */
  readonly pause: number
  /** Until the next attempts at an event on which the module has failed; after them it is dead. */
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
