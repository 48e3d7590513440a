import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, readJsonFile, type Storage, writeDurably } from '@mortise/storage'
import { type AuditRecord, appendOnce, type OperatorRecord } from './audit-trail.ts'

// What an operator's command records is a file in the application folder first, on the disk, and then goes to the
// database: by whoever has that open next, a host or a command. So it is kept where the database is out of reach, and
// taken in once, whoever is killed on the way.

const folderOf = (directory: string) => join(directory, '.app', 'audit')
const fileOf = (directory: string, id: string) => join(folderOf(directory), `${id}.json`)

/** Leaves a record for the audit trail. The same one again is the same. */
export async function writePendingRecord(directory: string, record: OperatorRecord): Promise<void> {
  await makeFolder(folderOf(directory), 0o700)
  const write = () => writeDurably(fileOf(directory, record.id), `${JSON.stringify(record)}\n`)
  await write().catch((error: NodeJS.ErrnoException) => {
    // Another command took the temporary file for one that was left.
    if (error.code === 'ENOENT') return write()
    throw error
  })
}

/**
 * What is not in the database yet, oldest first. A file that cannot be read is left out, and keeps no other from its
 * way.
 * @param unreadable is told of it
 */
export async function readPendingRecords(
  directory: string,
  unreadable: (error: Error) => void = () => {},
): Promise<OperatorRecord[]> {
  const names = await readdir(folderOf(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const records: OperatorRecord[] = []
  // Their names sort by time.
  for (const name of names.filter((name) => name.endsWith('.json')).sort()) {
    try {
      // Undefined: somebody else has just taken it in.
      const record = await readJsonFile(join(folderOf(directory), name), isRecord)
      if (record !== undefined) records.push(record)
    } catch (error) {
      unreadable(error as Error)
    }
  }
  return records
}

function isRecord(value: unknown): value is OperatorRecord {
  const { details, ...texts } = (value ?? {}) as Partial<OperatorRecord>
  const { id, at, actor, action, object, outcome } = texts
  return (
    typeof details === 'object' &&
    [id, at, actor, action, object, outcome].every((text) => typeof text === 'string')
  )
}

/** Takes the records that wait into the database, once it has the table for them. */
export async function importPendingRecords(directory: string, storage: Storage): Promise<void> {
  const records = await readPendingRecords(directory)
  if (records.length === 0 || !(await hasAuditTable(storage))) return
  await storage.transaction(function* () {
    for (const record of records) yield* appendOnce(record)
  })
  for (const { id } of records) await rm(fileOf(directory, id), { force: true })
}

/** False where an older host has migrated the database, or none. */
export async function hasAuditTable(storage: Storage): Promise<boolean> {
  return (await storage.applied()).some(({ module, name }) => module === 'host' && name === '007-audit')
}

/** As the trail has it. */
export const toAuditRecord = ({ id: _, ...record }: OperatorRecord): AuditRecord => ({
  seq: null,
  requestId: null,
  ...record,
})
