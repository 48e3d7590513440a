import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

// Before a change migrates the database, it copies the database to
// `.app/snapshots/<generation>.db`, named after the generation that used it until then. The
// snapshot is deleted when a rollback to that generation is no longer possible.

export interface Snapshot {
  readonly generation: number
  readonly file: string
  readonly at: string
  readonly bytes: number
}

export const snapshotsFolder = (directory: string) => join(directory, '.app', 'snapshots')
export const snapshotFile = (directory: string, generation: number) =>
  join(snapshotsFolder(directory), `${generation}.db`)

export const isSnapshot = (name: string) => /^\d+\.db$/.test(name)

/** All snapshots, oldest first. */
export async function readSnapshots(directory: string): Promise<Snapshot[]> {
  const names = await readdir(snapshotsFolder(directory)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const snapshots = names.filter(isSnapshot).map(async (name): Promise<Snapshot> => {
    const file = join(snapshotsFolder(directory), name)
    const { mtime, size } = await stat(file)
    return { generation: Number.parseInt(name, 10), file, at: mtime.toISOString(), bytes: size }
  })
  return (await Promise.all(snapshots)).sort((one, other) => one.generation - other.generation)
}

export async function removeSnapshot(directory: string, generation: number): Promise<void> {
  await rm(snapshotFile(directory, generation), { force: true })
}
