import type { Storage } from '@mortise/storage'
import { type AuditQuery, type AuditRecord, readTrail } from './audit-trail.ts'
import { hasAuditTable, importPendingRecords, readPendingRecords, toAuditRecord } from './pending-records.ts'

/** Imports the pending records and returns the newest ones; records that still wait come first. */
export async function readAudit(
  directory: string,
  storage: Storage | undefined,
  query: AuditQuery,
): Promise<AuditRecord[]> {
  await (storage && importPendingRecords(directory, storage).catch(() => {}))
  const records =
    storage !== undefined && (await hasAuditTable(storage))
      ? await storage.snapshot(() => readTrail(query))
      : []
  const waiting = query.before === undefined ? await readPendingRecords(directory) : []
  return [...waiting.map(toAuditRecord).reverse(), ...records].slice(0, query.limit)
}
