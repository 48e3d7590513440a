import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type LockFile, type ModulePackage, readPackage, storedModule, type Table } from '@mortise/host'
import semver from 'semver'
import { lockedModule } from '../../store/installed-packages.ts'
import { isStored } from '../../store/staging.ts'
import type { Candidate } from '../fetch/candidate.ts'
import type { Signed } from '../fetch/verify-signature.ts'
import type { BreakingChange } from './breaking/breaking-change.ts'
import { manifestChanges } from './breaking/manifest-changes.ts'
import { contractions, type TableChange, tableChanges } from './breaking/table-changes.ts'
import { type Peer, peersOf } from './checks/host-range.ts'
import { bytesOf, dependencyChanges, type PlannedDependencies } from './dependency-changes.ts'
import { type About, aboutPackage, listDependencies } from './dependency-list.ts'
import { LARGE } from './format-bytes.ts'
import { tablesOf } from './tables-of.ts'

/** The effect of installing one module, from its files alone. None of its code has run. */
export interface Plan extends About, PlannedDependencies {
  readonly id: string
  readonly package: string
  readonly version: string
  /** The version that it replaces. */
  readonly replaces: string | null
  /** The version that it replaces is newer. */
  readonly isOlder: boolean
  /** The integrity of the package with the same version that it replaces: a folder that changed. */
  readonly replacesContent: string | null
  readonly routes: readonly string[]
  /** The access to each route (`GET /cart`); null until its code has run. */
  readonly access: Readonly<Record<string, string>> | null
  /** The prefix of its tables. */
  readonly tables: string | null
  /** Its tables after all its migrations. */
  readonly schema: readonly Table[]
  readonly schemaChanges: readonly TableChange[]
  readonly migrations: readonly { readonly file: string; readonly reversible: boolean }[]
  readonly settings: readonly string[]
  /** The types of the events that it emits. */
  readonly events: readonly string[]
  /** The types of the events that it handles or reads; `*` for all. */
  readonly listensTo: readonly string[]
  readonly provides: Readonly<Record<string, string>>
  readonly requires: Readonly<Record<string, string>>
  readonly optional: Readonly<Record<string, string>>
  readonly peers: readonly Peer[]
  /** The hosts that it connects to, by its manifest. */
  readonly network: readonly string[]
  /** The registry's deprecation message; null if there is none, or no registry. */
  readonly deprecated: string | null
  readonly origin: string
  /** All its files, unpacked, with its dependencies. */
  readonly files: number
  readonly bytes: number
  /** The bytes without its dependencies. */
  readonly ownBytes: number
  /** More bytes than most modules need. */
  readonly isLarge: boolean
  /** SHA-512 of its tarball (SRI). */
  readonly integrity: string
  /** SHA-512 over every file, including dependencies (SRI). */
  readonly tree: string
  /** The registry key whose signature was verified, and whether the provenance was verified. */
  readonly signed: Signed | null
  /** What users of the previous version may have relied on. After the probe it includes the API. */
  readonly breaking: readonly BreakingChange[]
}

type PreviousVersion = NonNullable<Awaited<ReturnType<typeof previousVersionOf>>>

/**
 * The installed version of a module, or undefined. Its `package` is undefined if the store lacks it
 * or it is damaged, which does not block its upgrade.
 */
export async function previousVersionOf(id: string, lock: LockFile, directory: string) {
  const locked = lockedModule(lock, id)
  if (locked === undefined) return undefined
  const { version, integrity, enabled } = locked
  const stored = (await isStored(directory, locked)) ? storedModule(directory, locked) : undefined
  const found = stored === undefined ? undefined : await readPackage(stored).catch(() => undefined)
  return { version, integrity, enabled, package: found }
}

/** @throws {Failure} if its migrations fail on an empty database */
export async function planOf(
  candidate: Omit<Candidate, 'source'> & Partial<Pick<Candidate, 'source'>>,
  previous?: PreviousVersion,
): Promise<Plan> {
  const { name, version, manifest, settingsSchema, directory } = candidate.package
  const migrations = await migrationFiles(candidate.package)
  const schema = await tablesOf(candidate.package, candidate.source?.isOwn)
  const known = previous?.package
  const schemaChanges = known ? await changesSince(known, migrations, schema) : []
  const now = await listDependencies(directory, candidate.dependencies)
  const before = previous && (known ? await listDependencies(known.directory) : undefined)
  return {
    id: manifest.id,
    package: name,
    version,
    replaces: previous?.version ?? null,
    isOlder: previous !== undefined && semver.lt(version, previous.version),
    replacesContent:
      previous?.version === version && previous.integrity !== candidate.integrity ? previous.integrity : null,
    routes: manifest.routes,
    access: null,
    tables: manifest.tables ?? null,
    schema,
    schemaChanges,
    migrations: migrations
      .filter((file) => file.endsWith('.sql') && !file.includes('.down.'))
      .map((file) => ({ file, reversible: migrations.includes(file.replace(/\.sql$/, '.down.sql')) })),
    settings: Object.keys(settingsSchema?.properties ?? {}),
    events: manifest.events ?? [],
    listensTo: manifest.listensTo ?? [],
    provides: manifest.provides ?? {},
    requires: manifest.requires ?? {},
    optional: manifest.optional ?? {},
    peers: peersOf(candidate.json),
    network: manifest.network ?? [],
    ...(await aboutPackage(candidate.json, directory)),
    deprecated: candidate.deprecated ?? null,
    ...dependencyChanges(now, previous ? before : []),
    origin: candidate.from,
    files: candidate.files,
    bytes: candidate.bytes,
    ownBytes: candidate.bytes - bytesOf(now),
    isLarge: candidate.bytes > LARGE,
    integrity: candidate.integrity,
    tree: candidate.tree,
    signed: candidate.signed ?? null,
    breaking: known
      ? [...manifestChanges(known, candidate.package), ...contractions(manifest.id, schemaChanges)]
      : [],
  }
}

/** An older version changes nothing: the schema stays ahead of it. */
async function changesSince(
  previous: ModulePackage,
  migrations: readonly string[],
  schema: readonly Table[],
): Promise<TableChange[]> {
  const applied = await migrationFiles(previous)
  if (migrations.every((file) => applied.includes(file))) return []
  const tables = await tablesOf(previous).catch(() => undefined)
  return tables ? tableChanges(tables, schema) : []
}

async function migrationFiles({ manifest, directory }: ModulePackage): Promise<string[]> {
  if (manifest.migrations === undefined) return []
  return (await readdir(join(directory, manifest.migrations))).sort()
}
