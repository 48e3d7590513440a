import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Generation, LockFile } from '@mortise/application'
import { callApplication, hostMigrations } from '@mortise/host'
import type { AppliedMigration, DatabaseSchema } from '@mortise/storage'
import { hostPackageOf, migrationsOf } from './host-package.ts'
import { readInstalled } from './installed-packages.ts'

export type Ledger = DatabaseSchema['ledger']

/** The ledger of the database, from its running host or read by the command. */
export async function readLedger(directory: string): Promise<Ledger> {
  return (await callApplication(directory, 'schema')).ledger
}

/** The names of the migrations in stored packages, by module. */
export type MigrationNames = ReadonlyMap<string, ReadonlySet<string>>

/** @throws {Failure} if the store lacks them */
export async function migrationNames(
  directory: string,
  modules: LockFile['modules'],
): Promise<MigrationNames> {
  const names = new Map<string, ReadonlySet<string>>()
  for (const [id, locked] of Object.entries(modules)) {
    const { directory: folder, manifest } = await readInstalled(id, locked, directory)
    names.set(id, await namesIn(manifest.migrations && join(folder, manifest.migrations)))
  }
  return names
}

/**
 * The same, with the migrations of the host that `lock` pins.
 * @throws {Failure} if the store lacks them
 */
export async function lockMigrationNames(directory: string, lock: LockFile): Promise<MigrationNames> {
  const modules = await migrationNames(directory, lock.modules)
  const own = await namesIn(migrationsOf(hostPackageOf(lock, directory)))
  return new Map([[hostMigrations.module, own], ...modules])
}

async function namesIn(folder: string | undefined): Promise<ReadonlySet<string>> {
  const files = folder === undefined ? [] : await readdir(folder)
  return new Set(files.map((file) => file.slice(0, file.indexOf('.'))))
}

/** The applied migrations of the named modules that their packages lack. */
export function migrationsBeyond(names: MigrationNames, ledger: Ledger): Ledger {
  return ledger.filter(({ module, name }) => names.get(module)?.has(name) === false)
}

/**
 * The same, without those that were there when `since` came into force. They stay at the way back:
 * no later change applied them.
 */
export function migrationsAfter(names: MigrationNames, ledger: Ledger, since: Generation): Ledger {
  const from = Date.parse(since.at)
  return migrationsBeyond(names, ledger).filter(({ appliedAt }) => !(appliedAt <= from))
}

/** Whether packages have migrations that are not applied. */
export function isPending(names: MigrationNames, ledger: Ledger): boolean {
  const applied = new Set(ledger.map(({ module, name }) => `${module}/${name}`))
  return [...names].some(([id, own]) => [...own].some((name) => !applied.has(`${id}/${name}`)))
}

export const isOfHost = ({ module }: AppliedMigration) => module === hostMigrations.module
