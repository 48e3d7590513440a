import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AppliedMigration,
  callApplication,
  type DatabaseSchema,
  hostMigrations,
  type Lock,
} from '@mortise/host'
import { hostPackageOf, migrationsOf } from './host-package.ts'
import { readInstalled } from './installed-packages.ts'

export type Ledger = DatabaseSchema['ledger']

/** What was applied to the database, by its running host or by the command. */
export async function readLedger(directory: string): Promise<Ledger> {
  return (await callApplication(directory, 'schema')).ledger
}

/** The names of the migrations that stored packages have, by module. */
export type MigrationNames = ReadonlyMap<string, ReadonlySet<string>>

/** @throws {Failure} where the store has them not */
export async function migrationNames(directory: string, modules: Lock['modules']): Promise<MigrationNames> {
  const names = new Map<string, ReadonlySet<string>>()
  for (const [id, locked] of Object.entries(modules)) {
    const { directory: folder, manifest } = await readInstalled(id, locked, directory)
    names.set(id, await namesIn(manifest.migrations && join(folder, manifest.migrations)))
  }
  return names
}

/** Those of the host that `lock` pins too. @throws {Failure} where the store has them not */
export async function lockMigrationNames(directory: string, lock: Lock): Promise<MigrationNames> {
  const modules = await migrationNames(directory, lock.modules)
  const own = await namesIn(migrationsOf(hostPackageOf(lock, directory)))
  return new Map([[hostMigrations.module, own], ...modules])
}

async function namesIn(folder: string | undefined): Promise<ReadonlySet<string>> {
  const files = folder === undefined ? [] : await readdir(folder)
  return new Set(files.map((file) => file.slice(0, file.indexOf('.'))))
}

/** What the database has of the modules that are named, and their packages do not. */
export function migrationsBeyond(names: MigrationNames, ledger: Ledger): Ledger {
  return ledger.filter(({ module, name }) => names.get(module)?.has(name) === false)
}

/** Whether packages have what the database does not. */
export function isPending(names: MigrationNames, ledger: Ledger): boolean {
  const applied = new Set(ledger.map(({ module, name }) => `${module}/${name}`))
  return [...names].some(([id, own]) => [...own].some((name) => !applied.has(`${id}/${name}`)))
}

export const isOfHost = ({ module }: AppliedMigration) => module === hostMigrations.module
