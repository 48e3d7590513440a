import {
  type AppliedMigration,
  assertOwnDatabase,
  type Config,
  callApplication,
  type DatabaseInspection,
  databaseAddress,
  hostMigrations,
  hostVersion,
  IdentityError,
  inspectDatabase,
  type Lock,
  moduleMigrations,
  readConfig,
  readIdentity,
  readLockFile,
  readPackage,
  StorageUnreachableError,
  storedModule,
} from '@mortise/host'
import { readSnapshots } from '../application/snapshots.ts'
import { isCurrent } from '../changes/current-generation.ts'
import { lostIdentity } from '../data/lost-identity.ts'
import { restoreLost } from '../data/restore-snapshot.ts'
import { isOfHost } from '../store/applied-migrations.ts'
import type { FixableFinding } from './finding.ts'

/** From this many free bytes on, a half empty file is worth a finding. */
const FREE_TOLD = 16 * 1024 * 1024

/**
 * Checks the database file, and its schema against the active packages, without disturbing a
 * running host.
 */
export async function checkDatabase(directory: string): Promise<FixableFinding[]> {
  const config = await readConfig(directory).catch(() => undefined) // the check of the configuration reports it
  if (config === undefined) return []
  const active = await activeModules(directory)
  const packages = await Promise.all(
    Object.values(active).map((locked) =>
      readPackage(storedModule(directory, locked)).catch(() => undefined),
    ),
  )
  const sets = moduleMigrations(packages.filter((found) => found !== undefined))
  const found = await inspectDatabase(databaseAddress(config), [hostMigrations, ...sets]).catch((error) => {
    if (error instanceof StorageUnreachableError) return unreachable(error)
    throw error
  })
  if (found && 'id' in found) return [found]
  const stranger = await identityTrouble(config, found?.databaseId)
  if (stranger) return [stranger]
  if (found === undefined) return [] // the first start creates it
  return [
    ...damageTrouble(found, config.databaseFile ?? 'The database'),
    ...sparseTrouble(found, config.databaseFile ?? ''),
    ...orphanTrouble(found),
    ...unlikeTrouble(found),
    ...((await isCurrent(directory)) ? pendingTrouble(found, directory) : []),
    ...aheadTrouble(found),
    ...deadTrouble(found),
  ]
}

/** A database that is not the application's own gets no other finding. */
async function identityTrouble(
  config: Config,
  found: DatabaseInspection['databaseId'],
): Promise<FixableFinding | undefined> {
  const { directory } = config
  try {
    assertOwnDatabase(config, await readIdentity(directory), found)
    return undefined
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    const { message, hint } = await lostIdentity(error)
    const trouble = { id: error.code, severity: 'error', message, hint } as const
    const snapshot = (await readSnapshots(directory)).at(-1)
    if (error.code !== 'database-lost' || snapshot === undefined) return trouble
    return { ...trouble, mend: () => restoreLost(directory, snapshot) }
  }
}

async function activeModules(directory: string): Promise<Lock['modules']> {
  const { modules } = await readLockFile(directory)
  return Object.fromEntries(Object.entries(modules).filter(([, locked]) => locked.enabled))
}

const namesOf = (migrations: readonly AppliedMigration[]) =>
  migrations.map(({ module, name }) => `${module}/${name}`).join(', ')

const unreachable = (error: Error): FixableFinding => ({
  id: 'database-unreachable',
  severity: 'error',
  message: `${error.message}. Nothing can be served without it.`,
  hint: 'Start the server, or correct "database" in app.config.json or APP_DATABASE.',
})

function damageTrouble({ damage }: DatabaseInspection, file: string): FixableFinding[] {
  if (damage.length === 0) return []
  return [
    {
      id: 'database-damaged',
      severity: 'error',
      message: `${file} is damaged: ${damage.join('; ')}. What it holds cannot be trusted, and may be lost.`,
      hint: 'Stop the host, check the disk, and restore a backup ("app restore"). Keep the damaged file.',
    },
  ]
}

function sparseTrouble({ size }: DatabaseInspection, file: string): FixableFinding[] {
  if (size === undefined || size.free < FREE_TOLD || size.free < size.bytes / 2) return []
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`
  return [
    {
      id: 'database-sparse',
      severity: 'info',
      message: `${megabytes(size.free)} of the ${megabytes(size.bytes)} of ${file} are free: rows were deleted, and SQLite keeps their space for later ones.`,
      hint: `Nothing needs doing. To give the space back to the disk, stop the host and run: sqlite3 ${file} VACUUM`,
    },
  ]
}

const orphanTrouble = ({ orphans }: DatabaseInspection): FixableFinding[] =>
  orphans.map(({ table, parent, rows }) => ({
    id: 'database-orphans',
    severity: 'error',
    message: `${rows} rows of the table ${table} refer to rows of ${parent} which are gone. Something has written to the database beside the host.`,
    hint: 'Find out what did, and restore a backup or delete the rows.',
  }))

const unlikeTrouble = ({ unlike }: DatabaseInspection): FixableFinding[] =>
  unlike.map((message) => ({
    id: 'migrations-differ',
    severity: 'error',
    message: `${message}. The module cannot be started on this database.`,
    hint: 'Install the version of the module that was applied, or restore a backup.',
  }))

function pendingTrouble({ pending }: DatabaseInspection, directory: string): FixableFinding[] {
  if (pending.length === 0) return []
  return [
    {
      id: 'migrations-pending',
      severity: 'warning',
      message: `The database lacks ${namesOf(pending)}. The next start applies them; until then the modules that need them cannot serve.`,
      hint: 'Start the application, or run "app doctor --fix".',
      async mend() {
        await callApplication(directory, 'migrate', { modules: await activeModules(directory) })
        return `Applied ${namesOf(pending)}.`
      },
    },
  ]
}

function aheadTrouble({ ahead: all }: DatabaseInspection): FixableFinding[] {
  const [own, ahead] = [all.filter(isOfHost), all.filter((migration) => !isOfHost(migration))]
  return [...hostTrouble(own), ...moduleTrouble(ahead)]
}

function hostTrouble(ahead: readonly AppliedMigration[]): FixableFinding[] {
  if (ahead.length === 0) return []
  return [
    {
      id: 'host-too-old',
      severity: 'error',
      message: `The database has ${namesOf(ahead)}, of a newer host than ${hostVersion}, which refuses to start on it.`,
      hint: 'Use the newer "app", or restore a backup that was made before it.',
    },
  ]
}

function moduleTrouble(ahead: readonly AppliedMigration[]): FixableFinding[] {
  if (ahead.length === 0) return []
  return [
    {
      id: 'schema-ahead',
      severity: 'info',
      message: `The database has ${namesOf(ahead)}, of newer versions than those that are installed. That does no harm: migrations leave the former version working.`,
      hint: 'Install the newer version again, or leave it.',
    },
  ]
}

const deadTrouble = ({ dead: all }: DatabaseInspection): FixableFinding[] =>
  all.map(({ module, dead }) => ({
    id: 'reactions-dead',
    severity: 'warning',
    message: `${module} has failed on ${dead === 1 ? 'an event' : `${dead} events`} for the last time. What it should have done about that is not done.`,
    hint: `See why ("app events"), mend it, and run "app events replay --all --module ${module}"; or give it up ("app events discard").`,
  }))
