import { byEngine, sql } from './sql.ts'
import { one, type Transaction } from './transaction.ts'

/** The time by the clock of the database, which all hosts share, in epoch milliseconds. */
export const now = byEngine({
  sqlite: sql`CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  postgres: sql`CAST(extract(epoch FROM now()) * 1000 AS BIGINT)`,
})

/** A step that reads `now`. */
export function* databaseTime(): Transaction<number> {
  const row = yield* one<{ now: number }>(sql`SELECT ${now} AS now`)
  return row.now
}

/** How much the clocks of two concurrent transactions may differ, in milliseconds. */
export const TOLERANCE = 1_000

/** Notices when a clock goes back, so that its caller can make delayed work due. */
export class ClockWatch {
  #ahead = Number.POSITIVE_INFINITY

  /**
   * Calls `correct` if the clock went back since the last call, and on the first call, which has no
   * earlier time to compare with. If `correct` fails, the next call repeats it.
   * @param now the time by this clock, in epoch milliseconds
   * @returns whether `correct` was called
   */
  async watch(now: number, correct: () => Promise<unknown>): Promise<boolean> {
    const ahead = now - performance.now()
    const wentBack = ahead < this.#ahead - TOLERANCE
    if (wentBack) await correct()
    this.#ahead = ahead
    return wentBack
  }
}
