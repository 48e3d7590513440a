import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { gauge, type MetricFamily } from '../telemetry/prometheus-format.ts'

/**
 * The size of the database, and the free space of its disk if that is here. Empty if they cannot be
 * read.
 * @param file of SQLite; undefined on PostgreSQL
 */
export async function spaceMetrics(storage: Storage, file: string | undefined): Promise<MetricFamily[]> {
  try {
    if (file === undefined) {
      const { bytes } = await storage.one<{ bytes: number }>(
        sql`SELECT pg_database_size(current_database()) AS bytes`,
      )
      return [databaseBytes(bytes)]
    }
    const [{ size }, { bsize, bavail }] = await Promise.all([stat(file), statfs(dirname(file))])
    return [
      databaseBytes(size + (storage.wal?.bytes ?? 0)),
      gauge('mortise_disk_free_bytes', 'Free space of the disk with the SQLite file', 'min', bsize * bavail),
    ]
  } catch {
    return []
  }
}

const databaseBytes = (bytes: number) =>
  gauge('mortise_database_bytes', 'Size of the database', 'max', Number(bytes))
