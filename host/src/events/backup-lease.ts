import { many, now, run, sql, type Transaction } from '@mortise/module-sdk'

// Three rows of mortise_lease: `host/backup` expires when the next scheduled backup is due on any
// host of the database. The others have the times of the last good and the last failed one.

/** How long a backup may go without a sign of life, in milliseconds. */
const TERM = 10 * 60_000
/** How long a failed one waits at most, in milliseconds. */
const RETRY = 10 * 60_000

export interface BackupTimes {
  /** In epoch milliseconds; null without one. */
  readonly last: number | null
  readonly failed: number | null
}

export const noBackups: BackupTimes = { last: null, failed: null }

/**
 * Takes the right to make the backup that is due.
 * @param every the interval in milliseconds
 * @returns when it begins, by the clock of the database; undefined if none is due
 */
export function* claimBackup(every: number): Transaction<number | undefined> {
  const longest = Math.max(every, TERM)
  // Later than an interval from now: the interval was longer, or a clock was ahead.
  const taken = yield* run(sql`
    INSERT INTO mortise_lease (name, holder, expires_at) VALUES ('host/backup', 'backup', ${now} + ${TERM})
    ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at
    WHERE mortise_lease.expires_at <= ${now} OR mortise_lease.expires_at > ${now} + ${longest}`)
  if (taken === 0) return undefined
  const [row] = yield* many<{ end: number }>(
    sql`SELECT expires_at AS "end" FROM mortise_lease WHERE name = 'host/backup'`,
  )
  return (row?.end ?? 0) - TERM
}

/** @param begun as `claimBackup` returned it */
export function* noteBackup(
  outcome: 'running' | 'done' | 'failed',
  begun: number,
  every: number,
): Transaction<void> {
  if (outcome !== 'running') {
    const name = outcome === 'done' ? 'host/backup-done' : 'host/backup-failed'
    yield* run(sql`
      INSERT INTO mortise_lease (name, holder, expires_at) VALUES (${name}, 'backup', ${begun})
      ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at`)
  }
  const next =
    outcome === 'done'
      ? sql`${begun + every}`
      : sql`${now} + ${outcome === 'running' ? TERM : Math.min(every, RETRY)}`
  yield* run(sql`UPDATE mortise_lease SET expires_at = ${next} WHERE name = 'host/backup'`)
}

export function* backupTimes(): Transaction<BackupTimes> {
  const rows = yield* many<{ name: string; time: number }>(
    sql`SELECT name, expires_at AS "time" FROM mortise_lease WHERE name IN ('host/backup-done', 'host/backup-failed')`,
  )
  const timeOf = (name: string) => rows.find((row) => row.name === name)?.time ?? null
  return { last: timeOf('host/backup-done'), failed: timeOf('host/backup-failed') }
}
