import {
  assertOwnDatabase,
  databaseAddress,
  type Identity,
  IdentityError,
  type LockFile,
  modulesToLoad,
  readConfig,
  readIdentity,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/application'
import { readSnapshots } from '@mortise/application/folder'
import {
  callApplication,
  type DatabaseInspection,
  hostMigrations,
  hostVersion,
  inspectDatabase,
  moduleMigrations,
} from '@mortise/host'
import { type AppliedMigration, type ForeignObject, StorageUnreachableError } from '@mortise/storage'
import { isCurrent } from '../changes/current-generation.ts'
import { describeForeign, foreignObjects } from '../data/foreign-objects.ts'
import { restoreLost } from '../data/restore-snapshot.ts'
import { asFailure } from '../reporting/explain.ts'
import { isOfHost } from '../store/applied-migrations.ts'
import { lostIdentity } from './explain-error.ts'
import type { AsyncFindings, Findings, FixableFinding } from './finding.ts'

/** From this many free bytes on, a half empty file is worth a finding. */
const FREE_REPORTED = 16 * 1024 * 1024

/** Checks the file, and its schema against the active packages, beside a running host. */
export async function* checkDatabase(directory: string, quick: boolean): AsyncFindings {
  const config = await readConfig(directory).catch(() => undefined) // the check of the configuration reports it
  if (config === undefined) return
  const active = await activeModules(directory)
  const packages = await Promise.all(
    Object.values(active).map((locked) =>
      readPackage(storedModule(directory, locked)).catch(() => undefined),
    ),
  )
  const sets = moduleMigrations(packages.filter((found) => found !== undefined))
  const address = databaseAddress(config)
  const found = await inspectDatabase(address, [hostMigrations, ...sets], quick).catch((error) => {
    if (error instanceof StorageUnreachableError) return unreachable(error)
    throw error
  })
  if (found && 'id' in found) return yield found
  const stranger = await identityFinding(directory, (own) =>
    assertOwnDatabase(config, own, found?.databaseId),
  )
  if (stranger) return yield stranger
  if (found === undefined) return // the first start creates it
  yield* refusedFindings(found)
  yield* damageFindings(found, config.databaseFile ?? 'The database')
  yield* sparseFindings(found, config.databaseFile ?? '')
  yield* orphanFindings(found)
  yield* unlikeFindings(found)
  yield* changedFindings(found)
  yield* uncheckedFindings(found)
  if ('url' in address) yield* foreignFindings(await foreignObjects(address.url))
  if (await isCurrent(directory)) yield* pendingFindings(found, directory)
  yield* hostFindings(found.ahead.filter(isOfHost))
  yield* moduleFindings(found.ahead.filter((migration) => !isOfHost(migration)))
  yield* failedJobFindings(found)
  yield* deadFindings(found)
}

/** A database or secret that is not the application's own gets no other finding. */
export async function identityFinding(
  directory: string,
  check: (own: Identity | undefined) => void,
): Promise<FixableFinding | undefined> {
  try {
    check(await readIdentity(directory))
    return undefined
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    const { message, hint } = await lostIdentity(error)
    const finding = { id: error.code, severity: 'error', message, hint } as const
    const snapshot = (await readSnapshots(directory)).at(-1)
    if (error.code !== 'database-lost' || snapshot === undefined) return finding
    return { ...finding, fix: () => restoreLost(directory, snapshot) }
  }
}

async function activeModules(directory: string): Promise<LockFile['modules']> {
  return Object.fromEntries(modulesToLoad(await readLockFile(directory)))
}

const namesOf = (migrations: readonly AppliedMigration[]) =>
  migrations.map(({ module, name }) => `${module}/${name}`).join(', ')

function unreachable(error: StorageUnreachableError): FixableFinding {
  const { code, hint } = asFailure(error)
  const isUnfit = code === 'database-unfit'
  const message = `${error.message}. The application cannot serve without it.`
  return { id: isUnfit ? 'database-unfit' : 'database-unreachable', severity: 'error', message, hint }
}

const foreignFindings = (objects: readonly ForeignObject[]): FixableFinding[] =>
  objects.length === 0
    ? []
    : [
        {
          id: 'foreign-objects',
          severity: 'warning',
          message: `The database has objects that are not the application's: ${objects.map(describeForeign).join('; ')}. Backups leave them out, and what needs a table of a module can block its upgrade, rollback or purge.`,
          hint: 'Move them to a schema of their own. Let reports read a replica or a copy, or drop their views and foreign keys before a change.',
        },
      ]

function* refusedFindings({ refusal }: DatabaseInspection): Findings {
  if (refusal === undefined) return
  yield {
    id: 'storage-full',
    severity: 'error',
    message: `${refusal}: the host refuses writes (503 storage-full), and reads still work.`,
    hint: 'Make room for the database, or find who set that: ALTER ROLE … or ALTER DATABASE … RESET default_transaction_read_only. The host then accepts writes within seconds.',
  }
}

function* damageFindings({ damage }: DatabaseInspection, file: string): Findings {
  if (damage.length === 0) return
  yield {
    id: 'database-damaged',
    severity: 'error',
    message: `${file} is damaged: ${damage.join('; ')}. Its data may be wrong or lost.`,
    hint: 'Stop the host, check the disk, and restore a backup ("app restore"). Keep the damaged file.',
  }
}

function* sparseFindings({ size }: DatabaseInspection, file: string): Findings {
  if (size === undefined || size.free < FREE_REPORTED || size.free < size.bytes / 2) return
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`
  yield {
    id: 'database-sparse',
    severity: 'info',
    message: `${megabytes(size.free)} of the ${megabytes(size.bytes)} of ${file} are free: SQLite reuses the space of deleted rows.`,
    hint: `You do not need to do anything. To free the disk space, stop the host and run: sqlite3 ${file} VACUUM`,
  }
}

const orphanFindings = ({ orphans }: DatabaseInspection): FixableFinding[] =>
  orphans.map(({ table, parent, rows }) => ({
    id: 'database-orphans',
    severity: 'error',
    message: `${rows} rows of the table ${table} refer to missing rows of ${parent}. Another program wrote to the database.`,
    hint: 'Find that program, then restore a backup or delete the rows.',
  }))

const unlikeFindings = ({ unlike }: DatabaseInspection): FixableFinding[] =>
  unlike.map((message) => ({
    id: 'migrations-differ',
    severity: 'error',
    message: `${message}. The module cannot start on this database.`,
    hint: 'Install the version of the module with the applied migrations, or restore a backup.',
  }))

const changedFindings = ({ changed }: DatabaseInspection): FixableFinding[] =>
  changed.map(({ module, differences }) => ({
    id: 'tables-changed',
    severity: 'error',
    message: `The tables of ${module} differ from its migrations: ${listed(differences)}. Another program changed them, and the module may fail.`,
    hint: 'Find that program. Then restore a backup ("app restore"), or change the tables back by hand.',
  }))

const uncheckedFindings = ({ unchecked }: DatabaseInspection): FixableFinding[] =>
  [...Map.groupBy(unchecked, ({ reason }) => reason).values()].map((all) => ({
    id: 'tables-unchecked',
    severity: 'warning',
    message: `The tables of ${all.map(({ module }) => module).join(', ')} could not be compared with the migrations: ${all[0]?.reason}.`,
    hint: all[0]?.remedy ?? '',
  }))

/** The most differences that a finding names. */
const MOST_NAMED = 5

const listed = (all: readonly string[]) =>
  [...all.slice(0, MOST_NAMED), ...(all.length > MOST_NAMED ? [`${all.length - MOST_NAMED} more`] : [])].join(
    '; ',
  )

function* pendingFindings({ pending }: DatabaseInspection, directory: string): Findings {
  if (pending.length === 0) return
  yield {
    id: 'migrations-pending',
    severity: 'warning',
    message: `The database lacks ${namesOf(pending)}. The next start applies them. Until then, modules that need them cannot serve.`,
    hint: 'Start the application, or run "app doctor --fix".',
    async fix() {
      await callApplication(directory, 'migrate', { modules: await activeModules(directory) })
      return `Applied ${namesOf(pending)}.`
    },
  }
}

function* hostFindings(ahead: readonly AppliedMigration[]): Findings {
  if (ahead.length === 0) return
  yield {
    id: 'host-too-old',
    severity: 'error',
    message: `The database has ${namesOf(ahead)}, from a newer host than ${hostVersion}, so this host does not start.`,
    hint: 'Use the newer "app", or restore a backup from before the upgrade.',
  }
}

function* moduleFindings(ahead: readonly AppliedMigration[]): Findings {
  if (ahead.length === 0) return
  yield {
    id: 'schema-ahead',
    severity: 'info',
    message: `The database has ${namesOf(ahead)}, from newer versions than the installed ones. This does no harm: the previous version works after a migration.`,
    hint: 'Install the newer version again, or do nothing.',
  }
}

const deadFindings = ({ dead: all }: DatabaseInspection): FixableFinding[] =>
  all.map(({ module, dead }) => ({
    id: 'dead-letters',
    severity: 'warning',
    message: `${module} has failed on ${dead === 1 ? 'an event' : `${dead} events`} for the last time. Its work for that is not done.`,
    hint: `Find the reason with "app events", correct it, and run "app events replay --all --module ${module}"; or discard it with "app events discard".`,
  }))

const failedJobFindings = ({ failedJobs: all }: DatabaseInspection): FixableFinding[] =>
  all.map(({ module, failed }) => ({
    id: 'jobs-failed',
    severity: 'warning',
    message: `${failed === 1 ? 'A job' : `${failed} jobs`} of ${module} failed for the last time. Its work is not done.`,
    hint: `Find the reason with "app work", correct it, and run "app work replay --all --module ${module}"; or discard it with "app work discard".`,
  }))
