import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type LockFile,
  lockedPackages,
  readGenerations,
  storeDirectory,
  storedModule,
} from '@mortise/application'
import { readSnapshots } from '@mortise/application/folder'
import { KEPT } from '../../store/installed-packages.ts'

/** Removes packages and snapshots that no recent generation uses. */
export async function pruneStore(directory: string, lock: LockFile): Promise<void> {
  for (const path of await unreachable(directory, lock)) await rm(path, { recursive: true, force: true })
}

/**
 * The packages and snapshots that no recent generation uses. Empty if the record of one of these is
 * missing or unreadable, because its packages are unknown.
 */
export async function unreachable(directory: string, lock: LockFile): Promise<string[]> {
  const { known } = await readGenerations(directory)
  const newest = Math.max(lock.generation, known.at(-1)?.generation ?? 0)
  const last = known.filter(({ generation }) => generation > newest - KEPT)
  if (last.length < Math.min(KEPT, newest + 1)) return []
  const locks = [lock, ...last.map((generation) => generation.lock)]
  const packages = locks.flatMap((lock) => [...lockedPackages(lock).values()])
  const kept = new Set(packages.map((locked) => storedModule(directory, locked)))
  const store = storeDirectory(directory)
  const names = await readdir(store).catch(() => [])
  const folders = names.filter((name) => !name.startsWith('.')).map((name) => join(store, name))
  const snapshots = await readSnapshots(directory)
  const generations = new Set(last.map(({ generation }) => generation))
  return [
    ...folders.filter((folder) => !kept.has(folder)),
    ...snapshots.filter(({ generation }) => !generations.has(generation)).map(({ file }) => file),
  ]
}
