import { readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import {
  decisionOf,
  isLoaded,
  type LockFile,
  type ModulePackage,
  readPackage,
  storedModule,
} from '@mortise/application'
import { moduleMigrations } from '@mortise/host'
import { describeTables, MigrationError, type Table } from '@mortise/storage'
import semver from 'semver'
import { wrongMigration } from '../../failures/index.ts'
import { LARGE } from '../../store/format-bytes.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { isStored } from '../../store/staging.ts'
import type { Candidate } from '../fetch/candidate.ts'
import { provenanceChange } from '../fetch/provenance.ts'
import type { BreakingChange } from './breaking/breaking-change.ts'
import { manifestChanges } from './breaking/manifest-changes.ts'
import { contractions, type TableChange, tableChanges } from './breaking/table-changes.ts'
import { peersOf } from './checks/host-range.ts'
import { bytesOf, dependencyChanges } from './dependency-changes.ts'
import { aboutPackage, listDependencies } from './dependency-list.ts'

export type Plan = Awaited<ReturnType<typeof planOf>>

type PreviousVersion = NonNullable<Awaited<ReturnType<typeof previousVersionOf>>>

/**
 * The installed version of a module, or undefined. Its `package` is undefined if the store lacks it
 * or it is damaged, which does not block its upgrade.
 */
export async function previousVersionOf(id: string, lock: LockFile, directory: string) {
  const locked = lockedModule(lock, id)
  if (locked === undefined) return undefined
  const { version, integrity, signed } = locked
  const stored = (await isStored(directory, locked)) ? storedModule(directory, locked) : undefined
  const found = stored === undefined ? undefined : await readPackage(stored).catch(() => undefined)
  return { version, integrity, isLoaded: isLoaded(decisionOf(locked)), signed, package: found }
}

/**
 * The effect of installing one module, from its files alone. None of its code has run.
 * @throws {Failure} if its migrations fail on an empty database
 */
export async function planOf(
  candidate: Omit<Candidate, 'source'> & Partial<Pick<Candidate, 'source'>>,
  previous?: PreviousVersion,
  isNewSource = false,
  /** A newer version that was installed here, and whose migrations are in the database. */
  appliedVersion?: string,
) {
  const { package: found, json, from: origin, files, bytes, integrity, tree } = candidate
  const { name, version, manifest, settingsSchema, directory } = found
  const migrations = await migrationFiles(found)
  const schema = await tablesOf(found, candidate.source?.isOwn)
  const known = previous?.package
  const applied = known ? await migrationFiles(known) : []
  const previousRoutes = known?.manifest.routes ?? []
  const schemaChanges = known ? await changesSince(known, applied, migrations, schema) : []
  const now = await listDependencies(directory, candidate.dependencies)
  const before = previous && (known ? await listDependencies(known.directory) : undefined)
  const breaking = known
    ? [...manifestChanges(known, found), ...contractions(manifest.id, schemaChanges)]
    : []
  return {
    id: manifest.id,
    package: name,
    version,
    replaces: previous?.version ?? null,
    isOlder: previous !== undefined && semver.lt(version, previous.version),
    /** The newer version whose migrations stay in the database; null if it is no downgrade. */
    downgradeFrom:
      previous && semver.lt(version, previous.version) ? previous.version : (appliedVersion ?? null),
    /** Of the same version with other content, which it replaces: a folder that changed. */
    replacesContent:
      previous?.version === version && previous.integrity !== integrity ? previous.integrity : null,
    routes: manifest.routes,
    newRoutes: manifest.routes.filter((route) => !previousRoutes.includes(route)),
    lostRoutes: previousRoutes.filter((route) => !manifest.routes.includes(route)),
    /** The access to each route (`GET /cart`); null until its code has run. */
    access: null as Readonly<Record<string, string>> | null,
    /** The prefix of its tables. */
    tables: manifest.tables ?? null,
    /** Its tables after all its migrations. */
    schema,
    schemaChanges,
    migrations: migrations
      .filter((file) => file.endsWith('.sql') && !file.includes('.down.'))
      .map((file) => ({
        file,
        reversible: migrations.includes(file.replace(/\.sql$/, '.down.sql')),
        /** Whether the previous version does not have it. */
        isNew: !applied.includes(file),
      })),
    settings: Object.keys(settingsSchema?.properties ?? {}),
    events: manifest.events ?? [],
    listensTo: manifest.listensTo ?? [],
    provides: manifest.provides ?? {},
    requires: manifest.requires ?? {},
    optional: manifest.optional ?? {},
    peers: peersOf(json),
    network: manifest.network ?? [],
    /** Whether it may run commands and act as any user, and whether that is new. */
    operator: manifest.operator === true,
    becomesOperator: manifest.operator === true && known?.manifest.operator !== true,
    ...(await aboutPackage(json, directory)),
    deprecated: candidate.deprecated ?? null,
    ...dependencyChanges(now, previous ? before : []),
    origin,
    /** Whether neither Mortise nor anything installed before has this source. */
    isNewSource,
    files,
    bytes,
    /** Without its dependencies. */
    ownBytes: bytes - bytesOf(now),
    isLarge: bytes > LARGE,
    integrity,
    tree,
    signed: candidate.signed ?? null,
    provenanceChange: provenanceChange(previous?.signed, candidate.signed),
    ages: candidate.ages ?? null,
    /** What users of the previous version may have relied on. After the probe it includes the API. */
    breaking: breaking as readonly BreakingChange[],
  }
}

/** An older version changes nothing: the schema stays ahead of it. */
async function changesSince(
  previous: ModulePackage,
  applied: readonly string[],
  migrations: readonly string[],
  schema: readonly Table[],
): Promise<TableChange[]> {
  if (migrations.every((file) => applied.includes(file))) return []
  const tables = await tablesOf(previous).catch(() => undefined)
  return tables ? tableChanges(tables, schema) : []
}

async function migrationFiles({ manifest, directory }: ModulePackage): Promise<string[]> {
  if (manifest.migrations === undefined) return []
  return (await readdir(join(directory, manifest.migrations))).sort()
}

/**
 * The tables that a module's migrations create, on an empty database in memory. None of the
 * module's code runs.
 * @param own whether the module is in a folder of the operator
 * @throws {Failure} `migration-failed`
 */
async function tablesOf(found: ModulePackage, own = false): Promise<readonly Table[]> {
  const [set] = moduleMigrations([found])
  if (set === undefined) return []
  try {
    return await describeTables(set)
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error
    // The staging path is gone when the operator reads the message.
    const reason = error.message.replaceAll(join(found.directory, sep), '')
    const hint = own ? 'own' : 'others'
    throw wrongMigration({ id: found.manifest.id, reason, hint, cause: error })
  }
}
