import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  databaseAddress,
  type LockFile,
  type OperatorRecord,
  readConfig,
  readGenerations,
  readLockFile,
} from '@mortise/application'
import { callApplication, callRunningHost, openStorage } from '@mortise/host'
import { extractModule, MigrationError, postgresData, readContents } from '@mortise/storage'
import { assertServedNowhereElse } from '../application/other-hosts.ts'
import { doneRecord } from '../changes/audit-record.ts'
import { notPurgeable } from '../failures/index.ts'
import { installedId, lockedModule, readInstalled } from '../store/installed-packages.ts'
import { makeStaging } from '../store/staging.ts'
import { DATA } from './archive-manifest.ts'
import { assertArchivable, freeArchive } from './archives.ts'
import { writeArchive } from './write-archive.ts'

export interface Purged {
  readonly module: string
  readonly tables: readonly string[]
  /** `app restore` restores the tables from it. Relative to the application folder. */
  readonly archive: string
}

export interface PurgePlan {
  /** The modules, with those that others refer to last. */
  readonly modules: readonly string[]
  readonly drops: readonly { readonly table: string; readonly rows: number }[]
}

/** For people: `cart (2 rows), cart_item (5 rows)`. */
export const purgeText = ({ drops }: PurgePlan) =>
  drops.map(({ table, rows }) => `${table} (${rows} ${rows === 1 ? 'row' : 'rows'})`).join(', ')

/**
 * Drops the tables of modules that are no longer installed, after an archive of each module is on
 * the disk. The module is removed before the archive, so the archive has every acknowledged row. A
 * kill leaves unused data, and at most one extra archive. Running the purge again drops them.
 * @param names ids or package names; modules without data are skipped
 */
export async function purgeModules(directory: string, names: readonly string[]): Promise<Purged[]> {
  const lock = await readLockFile(directory)
  const ids = (await idsOf(directory, lock, names)).filter((id) => !Object.hasOwn(lock.modules, id))
  if (ids.length === 0) return []
  await callApplication(directory, 'retired', { modules: ids })
  const copy = join(await makeStaging(directory, 0o700), 'copy.db')
  await callApplication(directory, 'backup', { file: copy })
  const purged: Purged[] = []
  for (const id of ids) {
    const folder = await makeStaging(directory, 0o700)
    const data = extractModule(copy, id, join(folder, DATA))
    if (data === undefined) {
      // Event handlers may still have advanced their cursors.
      await drop(directory, id, {})
      continue
    }
    const archive = await freeArchive(directory, 'purged', `${id}-${lock.generation}`)
    const about = { kind: 'module', module: id, generation: lock.generation } as const
    await writeArchive({ file: join(directory, archive), folder, names: [DATA], about })
    const { tables } = data
    await drop(directory, id, { archive, tables })
    purged.push({ ...data, archive })
  }
  return purged
}

/** @param details the details of the record, unless there are no tables */
async function drop(directory: string, module: string, details: OperatorRecord['details']): Promise<void> {
  await callApplication(directory, 'purge', { module, record: doneRecord('purge', module, details) })
}

/**
 * Finds what a purge of these modules (installed or not) drops, by purging them on an empty
 * database with the application's schema. Checks that the archive can be written, and that no other
 * host serves the modules.
 * @param staging the folder whose store has the staging
 * @throws {Failure} if they cannot be purged (4), before any change
 */
export async function planPurge(
  directory: string,
  names: readonly string[],
  staging: string,
): Promise<PurgePlan> {
  const lock = await readLockFile(directory)
  const ids = await idsOf(directory, lock, names)
  if (await isDatabaseGone(directory)) {
    await assertNothingToArchive(directory, lock, ids)
    return { modules: [], drops: [] }
  }
  const { order, tables } = await rehearse(directory, ids, staging)
  // If the modules are already removed, wait for the hosts that share the folder to follow.
  const installed = order.filter((id) => Object.hasOwn(lock.modules, id))
  if (installed.length > 0) await assertServedNowhereElse(directory, installed)
  if (tables.length === 0) return { modules: order, drops: [] }
  await assertArchivable(directory, 'purged')
  const place = databaseAddress(await readConfig(directory))
  if ('url' in place) await tryOnPostgres(place.url, order)
  const { rows } = await readContents(place)
  return { modules: order, drops: tables.map((table) => ({ table, rows: Number(rows[table] ?? 0) })) }
}

async function isDatabaseGone(directory: string): Promise<boolean> {
  const { databaseFile } = await readConfig(directory)
  if (databaseFile === undefined || existsSync(databaseFile)) return false
  return (await callRunningHost(directory, 'state')) === undefined
}

/** @throws {Failure} if one of the modules had tables in the database */
async function assertNothingToArchive(
  directory: string,
  lock: LockFile,
  ids: readonly string[],
): Promise<void> {
  // Refuses a lost database that a host has used, with the ways to get it back.
  await callApplication(directory, 'schema')
  for (const id of ids) {
    const locked = lockedModule(lock, id)
    if (locked === undefined) continue
    const { manifest } = await readInstalled(id, locked, directory)
    if (manifest.migrations === undefined) continue
    const { databaseFile } = await readConfig(directory)
    throw notPurgeable({ reason: `the database with the tables of ${id} is missing: ${databaseFile}` })
  }
}

async function rehearse(directory: string, ids: readonly string[], staging: string) {
  const schema = await callApplication(directory, 'schema')
  const file = join(await makeStaging(staging, 0o700), 'rehearsal.db')
  const storage = await openStorage({ file, schema })
  const left = new Set(ids)
  const order: string[] = []
  const tables: string[] = []
  try {
    while (left.size > 0) {
      const refusals: MigrationError[] = []
      for (const id of left) {
        try {
          tables.push(...(await storage.purge(id)).tables)
          order.push(id)
        } catch (error) {
          if (!(error instanceof MigrationError)) throw error
          refusals.push(error)
        }
      }
      if (refusals.length === left.size) throw refused(refusals[0] as MigrationError)
      for (const id of order) left.delete(id)
    }
    return { order, tables }
  } finally {
    await storage.close()
  }
}

async function tryOnPostgres(url: string, modules: readonly string[]): Promise<void> {
  try {
    await (await postgresData()).tryPurge(url, modules)
  } catch (error) {
    throw error instanceof MigrationError ? refused(error) : error
  }
}

const refused = (cause: MigrationError) => notPurgeable({ reason: cause.message, cause })

/** The ids of modules that are or were installed under these names. */
async function idsOf(directory: string, lock: LockFile, names: readonly string[]): Promise<string[]> {
  const { known } = await readGenerations(directory)
  const locks = [lock, ...known.map((past) => past.lock).toReversed()]
  const ids = names.map((name) => {
    for (const past of locks) {
      const id = installedId(past, name)
      if (id !== undefined) return id
    }
    return name
  })
  return [...new Set(ids)]
}
