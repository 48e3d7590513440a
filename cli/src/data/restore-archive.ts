import { existsSync } from 'node:fs'
import { chmod, copyFile, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Failure } from '../failure.ts'
import {
  callRunningHost,
  configFile,
  damageOf,
  type Lock,
  lockFile,
  MigrationError,
  readConfig,
  readLock,
  restoreModule,
  StorageBusyError,
  secretFile,
  storedModule,
  syncPath,
} from '../host.ts'
import { makeStaging } from '../install/staging.ts'
import { type ArchiveManifest, CONFIG, DATA, LOCK, SECRET } from './archive-manifest.ts'
import { readArchive } from './read-archive.ts'
import { carryOutRestoration, restoredFile, whileDatabaseLocked } from './restore-journal.ts'

export interface Restore {
  readonly directory: string
  readonly file: string
  /** As it was called, for the history. */
  readonly command: string
  readonly withConfig: boolean
  readonly withSecret: boolean
}

export type Restored =
  | {
      readonly kind: 'application'
      /** Of the lock from now on. */
      readonly generation: number
      readonly restored: readonly string[]
      /** Where the data are that were there before. */
      readonly former: string | null
      /** Installed modules whose packages are not in the store. */
      readonly missing: readonly string[]
    }
  | { readonly kind: 'module'; readonly module: string; readonly tables: readonly string[] }

/**
 * Brings back what an archive holds, after all of it was verified. Run it while the application is locked.
 * @throws {Failure} nothing has changed then
 */
export async function restoreArchive(restore: Restore): Promise<Restored> {
  const { directory, file } = restore
  await assertStopped(directory)
  const folder = await makeStaging(directory)
  await chmod(folder, 0o700)
  const manifest = await readArchive(file, folder)
  const damage = damageOf(join(folder, DATA))
  if (damage !== undefined) throw refused(file, `its database is damaged: ${damage}`)
  if (manifest.kind === 'module') return await restorePurged(restore, folder)
  return await restoreApplication(restore, folder, manifest)
}

async function restoreApplication(
  { directory, file, command, withConfig, withSecret }: Restore,
  folder: string,
  { parts }: ArchiveManifest,
): Promise<Restored> {
  if (withSecret && !Object.hasOwn(parts, SECRET)) {
    throw refused(file, 'it holds no secret: it was made without --with-secret')
  }
  const present = await readConfig(directory)
  const { archivedLock, database } = await readParts(file, folder, directory, withConfig)
  const lock: Lock = { ...archivedLock, generation: (await readLock(directory)).generation + 1 }
  await chmod(join(folder, CONFIG), 0o644)
  const sources = new Map([[database, join(folder, DATA)]])
  if (withConfig) sources.set(configFile(directory), join(folder, CONFIG))
  if (withSecret) sources.set(secretFile(directory), join(folder, SECRET))

  const former = `${database}.before-generation-${lock.generation}`
  // The lock comes first beside its place, and last into it: see `removeUndecided`.
  return await whileDatabaseLocked([...new Set([present.databaseFile, database])], async () => {
    const hadData = existsSync(database)
    await writeBeside(lockFile(directory), `${JSON.stringify(lock, null, 2)}\n`)
    for (const [place, source] of sources) await putBeside(place, source)
    const files = [...sources.keys(), lockFile(directory)]
    await carryOutRestoration(directory, { command, lock, database, former, files })
    return {
      kind: 'application',
      generation: lock.generation,
      restored: [DATA, LOCK, ...(withConfig ? [CONFIG] : []), ...(withSecret ? [SECRET] : [])],
      former: hadData ? former : null,
      missing: missingIn(directory, lock),
    }
  })
}

/** @throws {Failure} where lock or configuration are none */
async function readParts(file: string, folder: string, directory: string, withConfig: boolean) {
  try {
    const archivedLock = await readLock(folder)
    const { database } = await readConfig(withConfig ? folder : directory)
    return { archivedLock, database: resolve(directory, database) }
  } catch (error) {
    throw refused(file, (error as Error).message.replaceAll(`${folder}/`, ''))
  }
}

async function restorePurged({ directory, file }: Restore, folder: string): Promise<Restored> {
  try {
    return { kind: 'module', ...(await restoreModule(directory, join(folder, DATA))) }
  } catch (error) {
    if (error instanceof MigrationError) throw refused(file, error.message)
    if (error instanceof StorageBusyError) await assertStopped(directory)
    throw error
  }
}

async function assertStopped(directory: string): Promise<void> {
  if ((await callRunningHost(directory, { method: 'GET', path: '/state' })) === undefined) return
  throw new Failure(
    'refused',
    'host-running',
    'A host runs this application, and data are restored only into one that is stopped.',
    'Stop it, then give the same command again.',
  )
}

const missingIn = (directory: string, { modules }: Lock) =>
  Object.entries(modules).flatMap(([id, locked]) => (existsSync(storedModule(directory, locked)) ? [] : [id]))

/** Puts a verified part beside its place, on the same file system, on the disk. */
async function putBeside(place: string, source: string): Promise<void> {
  const beside = restoredFile(place)
  await rm(beside, { force: true })
  try {
    await rename(source, beside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    await copyFile(source, beside)
  }
  await syncPath(beside)
  await syncPath(dirname(beside))
}

async function writeBeside(place: string, text: string): Promise<void> {
  const handle = await open(restoredFile(place), 'w', 0o644)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await syncPath(dirname(place))
}

function refused(file: string, reason: string): Failure {
  return new Failure(
    'refused',
    'bad-archive',
    `${file} cannot be restored: ${reason}.`,
    'Nothing was changed. Take another archive.',
  )
}
