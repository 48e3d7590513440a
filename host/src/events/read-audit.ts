import type { Storage } from '@mortise/storage'
import { type AuditQuery, type AuditRecord, readTrail } from './audit-trail.ts'
import { hasTrail, readWaiting, takeInRecords, toAuditRecord } from './waiting-records.ts'

/** Takes in what waits for the database, and answers the newest records; first of all those that wait on. */
export async function readAudit(
  directory: string,
  storage: Storage | undefined,
  query: AuditQuery,
): Promise<AuditRecord[]> {
  await (storage && takeInRecords(directory, storage).catch(() => {}))
  const records =
    storage !== undefined && (await hasTrail(storage)) ? await storage.snapshot(() => readTrail(query)) : []
  const waiting = query.before === undefined ? await readWaiting(directory) : []
  return [...waiting.map(toAuditRecord).reverse(), ...records].slice(0, query.limit)
}
