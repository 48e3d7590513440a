import { existsSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import {
  configFile,
  databaseAddress,
  type LockFile,
  readConfig,
  readGenerations,
  secretFile,
} from '@mortise/application'
import { runWithoutHost } from '@mortise/host'
import { type DatabaseAddress, MigrationError, StorageBusyError } from '@mortise/storage'
import { doneRecord } from '../changes/audit-record.ts'
import { currentGeneration, nextGeneration } from '../changes/current-generation.ts'
import { lastLockFile } from '../changes/lost-lock-file.ts'
import { badArchive, noSecretInArchive } from '../failures/index.ts'
import { confirm } from '../reporting/confirm.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { absentPackages } from '../store/installed-packages.ts'
import { checkLockedBytes } from '../store/same-bytes.ts'
import { makeStaging } from '../store/staging.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import { type ArchiveManifest, CONFIG, DATA, LOCK, SECRET } from './archive-manifest.ts'
import { checkArchive } from './check-archive.ts'
import { confirmArchive } from './confirm-archive.ts'
import { foreignLines, leftOut } from './foreign-objects.ts'
import { previousFile, replaceData } from './replace-data.ts'
import { assertStopped } from './restore-journal.ts'

export interface Restore {
  readonly directory: string
  readonly file: string
  readonly command: string
  readonly withConfig: boolean
  readonly withSecret: boolean
  readonly terminal: Reporter
  readonly yes: boolean
}

export type Restored =
  | {
      readonly kind: 'application'
      readonly generation: number
      readonly restored: readonly string[]
      /** The place of the previous data: a file relative to the application folder, or a schema. */
      readonly previous: string | null
      /** The modules that the store lacks, and the pinned host if it is missing. */
      readonly missing: readonly string[]
    }
  | {
      readonly kind: 'module'
      readonly module: string
      readonly tables: readonly string[]
      /** The source of its last installation; null if no generation records it. */
      readonly spec: string | null
    }

/**
 * Verifies an archive completely and then restores it. On a terminal it asks before it replaces
 * data. Call this with the command lock.
 * @throws {Failure} before any change
 */
export async function restoreArchive(restore: Restore): Promise<Restored> {
  const { directory, file, terminal } = restore
  await assertStopped(directory)
  const folder = await makeStaging(directory, 0o700)
  const checked = await terminal.during('Verifying', () => checkArchive(directory, file, folder))
  const { manifest, lock, foreign } = checked
  for (const line of foreignLines(foreign)) terminal.note(line)
  if (lock === undefined) return await restorePurged(restore, folder, manifest)
  return await restoreApplication(restore, folder, manifest, lock)
}

async function restoreApplication(
  restore: Restore,
  folder: string,
  { parts, generation, at }: ArchiveManifest,
  archivedLock: LockFile,
): Promise<Restored> {
  const { directory, file, command, withConfig, withSecret, terminal, yes } = restore
  if (withSecret && !Object.hasOwn(parts, SECRET)) throw noSecretInArchive({ file })
  const present = await readConfig(directory)
  const database = await placeOf(file, folder, directory, withConfig)
  await checkLockedBytes(directory, archivedLock)
  await confirmArchive(restore, folder, archivedLock, database)
  const next = nextGeneration(await lastLockFile(directory), await currentGeneration(directory))
  const lock: LockFile = { ...archivedLock, generation: next }
  await chmod(join(folder, CONFIG), 0o644)
  const sources = new Map<string, string>()
  if (withConfig) sources.set(configFile(directory), join(folder, CONFIG))
  if (withSecret) sources.set(secretFile(directory), join(folder, SECRET))

  const replaced = [...(withConfig ? [CONFIG] : []), ...(withSecret ? [SECRET] : [])]
  const data = join(folder, DATA)
  const other = databaseAddress(present)
  if (!('file' in database) || existsSync(database.file)) {
    terminal.note(`Replaces data and modules with those of generation ${generation}, ${at}.`)
    terminal.note('The current database is kept next to it.')
    const foreign = await leftOut(directory)
    if (foreign.length > 0)
      terminal.note(`Moves with the current data, since no module made it: ${foreign.join('; ')}`)
    if (withConfig)
      terminal.note(
        `The current ${CONFIG} is kept as ${basename(previousFile(configFile(directory), next))}.`,
      )
    if (withSecret)
      terminal.note(`The current secret is kept as ${basename(previousFile(secretFile(directory), next))}.`)
    await confirm(terminal, yes, 'Restore that?')
  }
  const previous = await asRefusal(file, () =>
    terminal.during('Restoring', () =>
      replaceData({ directory, command, from: basename(file), lock, database, data, sources, other }),
    ),
  )
  return {
    kind: 'application',
    generation: lock.generation,
    restored: [DATA, LOCK, ...replaced],
    previous,
    missing: absentPackages(directory, lock),
  }
}

/** @throws {Failure} if the configuration is invalid */
async function placeOf(
  file: string,
  folder: string,
  directory: string,
  withConfig: boolean,
): Promise<DatabaseAddress> {
  try {
    const { database, databaseFile } = await readConfig(withConfig ? folder : directory)
    return databaseFile === undefined ? { url: database } : { file: resolve(directory, database) }
  } catch (error) {
    throw badArchive({ file, reason: (error as Error).message.replaceAll(`${folder}/`, '') })
  }
}

async function restorePurged(
  restore: Restore,
  folder: string,
  { module }: ArchiveManifest,
): Promise<Restored> {
  const { directory, file, command } = restore
  await confirmArchive(restore, folder, undefined, databaseAddress(await readConfig(directory)))
  const record = doneRecord('restore', basename(file), { command, module })
  const sets = await storedMigrations(directory)
  try {
    const data = { file: join(folder, DATA), sets, record }
    const restored = await asRefusal(file, () => runWithoutHost(directory, 'restoreModule', data))
    return { kind: 'module', ...restored, spec: await lastSpec(directory, restored.module) }
  } catch (error) {
    if (error instanceof StorageBusyError) await assertStopped(directory)
    throw error
  }
}

async function lastSpec(directory: string, module: string): Promise<string | null> {
  const { known } = await readGenerations(directory)
  const found = known.findLast(({ lock }) => Object.hasOwn(lock.modules, module))
  const spec = found?.lock.modules[module]?.spec
  if (spec === undefined) return null
  return spec.startsWith('file:') ? resolve(directory, spec.slice('file:'.length)) : spec
}

async function asRefusal<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof MigrationError ? badArchive({ file, reason: error.message }) : error
  }
}
