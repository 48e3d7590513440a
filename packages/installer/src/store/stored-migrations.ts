import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readPackage, storeDirectory } from '@mortise/application'
import { hostMigrations, moduleMigrations } from '@mortise/host'
import type { MigrationSet } from '@mortise/storage'

/**
 * The migrations of the host and of every package in the store, installed or not, because the
 * database may have migrations of a previous version.
 */
export async function storedMigrations(directory: string): Promise<MigrationSet[]> {
  const store = storeDirectory(directory)
  const names = (await readdir(store).catch(() => [])).filter((name) => !name.startsWith('.'))
  // The store also has pinned hosts, which are not modules.
  const packages = await Promise.all(
    names.map((name) => readPackage(join(store, name)).catch(() => undefined)),
  )
  return [hostMigrations, ...moduleMigrations(packages.filter((found) => found !== undefined))]
}
