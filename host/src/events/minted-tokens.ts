import { isMigrated, readPendingRecords } from '@mortise/application'
import { many, sql, type Transaction } from '@mortise/module-sdk'
import { MOST_ROWS, type Storage } from '@mortise/storage'
import { secondsOfLifetime } from '../callers/lifetime.ts'

/** When the last token of `app token` expires, in epoch milliseconds; null if none was minted. */
export async function lastTokenExpiry(directory: string, storage?: Storage): Promise<number | null> {
  const pending = await readPendingRecords(directory)
  const times = pending
    .filter(({ action }) => action === 'token')
    .map(({ at, details }) => expiryOf(Date.parse(at), details))
  if (storage !== undefined && isMigrated(await storage.applied())) {
    let before = Number.MAX_SAFE_INTEGER
    for (let isWhole = false; !isWhole; ) {
      const rows = await storage.snapshot(() => mintedBefore(before), { long: true })
      times.push(...rows.map(({ at, details }) => expiryOf(at, JSON.parse(details ?? '{}'))))
      before = rows.at(-1)?.seq ?? before
      isWhole = rows.length < MOST_ROWS
    }
  }
  return times.reduce<number | null>((last, time) => Math.max(last ?? 0, time), null)
}

function* mintedBefore(seq: number): Transaction<{ seq: number; at: number; details: string | null }[]> {
  return yield* many<{ seq: number; at: number; details: string | null }>(sql`
    SELECT seq, at, details FROM mortise_audit
    WHERE action = ${'token'} AND seq < ${seq} ORDER BY seq DESC LIMIT ${MOST_ROWS}`)
}

const expiryOf = (at: number, { expiresIn }: Readonly<Record<string, unknown>>): number =>
  at + (secondsOfLifetime(String(expiresIn)) ?? 0) * 1000
