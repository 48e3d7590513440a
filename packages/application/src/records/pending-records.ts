import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, readJsonFile, writeDurably } from '@mortise/storage'
import { firstError } from '../config/first-error.ts'
import { OperatorRecord } from './operator-record.ts'

// An operator's command first writes its record to a durable file in the application folder. The
// next host or command that has the database open imports it. So a record survives an unavailable
// database and is imported once, even after a crash.

const folderOf = (directory: string) => join(directory, '.app', 'audit')
const fileOf = (directory: string, id: string) => join(folderOf(directory), `${id}.json`)

/** Writes a record for the audit trail. Repeating it has no effect. */
export async function writePendingRecord(directory: string, record: OperatorRecord): Promise<void> {
  await makeFolder(folderOf(directory), 0o700)
  const write = () => writeDurably(fileOf(directory, record.id), `${JSON.stringify(record)}\n`)
  await write().catch((error: NodeJS.ErrnoException) => {
    // Another command has removed the temporary file as a leftover.
    if (error.code === 'ENOENT') return write()
    throw error
  })
}

/** Oldest first. Calls `unreadable` for each unreadable file, and leaves it out. */
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
      // Undefined: another process has just imported it.
      const record = await readJsonFile(join(folderOf(directory), name), isRecord)
      if (record !== undefined) records.push(record)
    } catch (error) {
      unreadable(error as Error)
    }
  }
  return records
}

const isRecord = (value: unknown): value is OperatorRecord => firstError(OperatorRecord, value) === undefined

/** Removes a record that the database has. */
export async function removePendingRecord(directory: string, { id }: OperatorRecord): Promise<void> {
  await rm(fileOf(directory, id), { force: true })
}
