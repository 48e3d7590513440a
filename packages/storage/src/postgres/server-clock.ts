import { sql } from '@mortise/module-sdk/sql'

/** How long a sample counts, in milliseconds: clocks drift apart. */
const LIFETIME = 5_000

/** The server's time in epoch microseconds, for a SELECT. */
export const serverTime = sql`CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)`

/**
 * The clock of the server as this process knows it, in epoch milliseconds. It is behind the server's
 * by the time that the fastest response of the last seconds took, and never ahead. So a transaction
 * that begins after another host's COMMIT was acknowledged has no earlier time than that one, as
 * long as that COMMIT took longer than this response.
 */
export class ServerClock {
  readonly #elapsed: () => number
  /** The server's time minus the elapsed one: the most of the current samples, and of those before. */
  #offset = Number.NEGATIVE_INFINITY
  #before = Number.NEGATIVE_INFINITY
  #since = Number.NEGATIVE_INFINITY

  /** @param elapsed a clock that never jumps, in milliseconds */
  constructor(elapsed: () => number = () => performance.now()) {
    this.#elapsed = elapsed
  }

  /** @param microseconds a `serverTime` that has just arrived */
  sample(microseconds: number): void {
    const elapsed = this.#elapsed()
    if (elapsed - this.#since > LIFETIME) {
      this.#before = this.#offset
      this.#offset = Number.NEGATIVE_INFINITY
      this.#since = elapsed
    }
    this.#offset = Math.max(this.#offset, microseconds / 1000 - elapsed)
  }

  /** Call it after the first sample. */
  now(): number {
    return this.#elapsed() + Math.max(this.#offset, this.#before)
  }
}
