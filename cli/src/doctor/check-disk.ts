import { existsSync } from 'node:fs'
import { readConfig, reservedBytes, volumeOf } from '@mortise/host'
import type { AsyncFindings } from './finding.ts'

/** Whether the SQLite file has room to grow. Another check reports a wrong configuration. */
export async function* checkDisk(directory: string): AsyncFindings {
  const config = await readConfig(directory).catch(() => undefined)
  const file = config?.databaseFile
  if (config === undefined || file === undefined || !existsSync(file)) return
  const volume = await volumeOf(file)
  const kept = reservedBytes(volume, config.storage.minFreeBytes)
  if (volume.free >= Math.max(kept, 1)) return
  yield {
    id: 'storage-full',
    severity: 'error',
    message: `The disk of ${file} has ${volume.free} bytes free, and the host needs ${kept}: it refuses writes (503 storage-full), and reads still work.`,
    hint: `Free disk space (df -h ${file}): the host then accepts writes again. The setting "storage.minFreeBytes" is the limit.`,
  }
}
