import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  hostMigrations,
  type MigrationSet,
  moduleMigrations,
  readPackage,
  storeDirectory,
} from '@mortise/host'

/** The migrations of the host, and of every package in the store, installed or not: what a former version applied may be needed. */
export async function storedMigrations(directory: string): Promise<MigrationSet[]> {
  const store = storeDirectory(directory)
  const names = (await readdir(store).catch(() => [])).filter((name) => !name.startsWith('.'))
  // A host that is pinned lies there too, and is no module.
  const packages = await Promise.all(
    names.map((name) => readPackage(join(store, name)).catch(() => undefined)),
  )
  return [hostMigrations, ...moduleMigrations(packages.filter((found) => found !== undefined))]
}
