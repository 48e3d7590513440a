import { isMigrated, readPendingRecords, removePendingRecord } from '@mortise/application'
import type { Storage } from '@mortise/storage'
import { type AuditQuery, type AuditRecord, appendOnce, readTrail } from './audit-trail.ts'

/** Imports the waiting records into the database, once it has the table for them. */
export async function importPendingRecords(directory: string, storage: Storage): Promise<void> {
  const records = await readPendingRecords(directory)
  if (records.length === 0 || !isMigrated(await storage.applied())) return
  await storage.transaction(function* () {
    for (const record of records) yield* appendOnce(record)
  })
  for (const record of records) await removePendingRecord(directory, record)
}

/** Imports the pending records and returns the newest ones; records that still wait come first. */
export async function readAudit(
  directory: string,
  storage: Storage | undefined,
  query: AuditQuery,
): Promise<AuditRecord[]> {
  await (storage && importPendingRecords(directory, storage).catch(() => {}))
  const hasTrail = storage !== undefined && isMigrated(await storage.applied())
  const records = hasTrail ? await storage.snapshot(() => readTrail(query), { long: true }) : []
  const waiting = query.before === undefined ? await readPendingRecords(directory) : []
  const { object } = query
  const wanted = waiting.filter((record) => object === undefined || record.object === object)
  const pending = wanted.map(({ id: _, ...record }) => ({ seq: null, requestId: null, ...record }))
  return [...pending.reverse(), ...records].slice(0, query.limit)
}
