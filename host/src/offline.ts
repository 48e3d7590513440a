import {
  type AppliedMigration,
  copyDatabase as copySqlite,
  type DatabaseSchema,
  type MigrationSet,
  type ModuleData,
  type Storage,
} from '@mortise/storage'
import { mintToken } from './callers/mint-token.ts'
import { createTokenVerifier } from './callers/tokens.ts'
import { type Config, ownIssuer, readConfig, secretFile, tokenIssuers } from './config/config.ts'
import { assertOwnSecret, IdentityError, readIdentity } from './config/identity.ts'
import { ConfigError, type Environment } from './config/settings.ts'
import { type AuditQuery, type AuditRecord, insertion, type OperatorRecord } from './events/audit-trail.ts'
import { hasReactions } from './events/dead-reactions.ts'
import {
  type ChosenReaction,
  discard,
  type FailedChoice,
  type ReactionsState,
  readReactions,
  replay,
} from './events/failed-reactions.ts'
import { purgeData } from './events/purge-data.ts'
import { readAudit } from './events/read-audit.ts'
import { takeInRecords } from './events/waiting-records.ts'
import { InstalledModules, migrateStored } from './generations/installed-modules.ts'
import { assertNobodyNeeds, servingHosts } from './generations/roll-call.ts'
import type { ServingHost } from './generations/serving-host.ts'
import { type Lock, readLock } from './modules/lock.ts'
import { migrateHost } from './modules/migrate-host.ts'
import { isDatabaseStillToCome, openApplicationStorage } from './open-application-storage.ts'
import { createLogger } from './telemetry/logger.ts'

// What the `app` command does to an application that no host is running.

/**
 * Brings the schema up for stored modules.
 * @throws {StorageBusyError} where a host runs after all
 * @throws {MigrationError}
 */
export async function migrateApplication(
  directory: string,
  modules: Lock['modules'],
  environment?: Environment,
): Promise<AppliedMigration[]> {
  return changeStorage(directory, environment, async (storage, config) => {
    const own = await migrateHost(storage)
    return [...own, ...(await migrateStored(config, storage, modules))]
  })
}

/** See `Storage.undo`. @throws {StorageBusyError} where a host runs: ask that one */
export async function undoMigrations(
  directory: string,
  migrations: readonly AppliedMigration[],
  environment?: Environment,
): Promise<void> {
  await changeStorage(directory, environment, async (storage) => {
    const { modules } = await readLock(directory)
    const changed = migrations.map(({ module }) => module)
    await assertNobodyNeeds(changed, modules, () => servingHosts(storage))
    await storage.undo(migrations)
  })
}

/** See `assertNobodyNeeds`: of the modules as the lock has them. @throws {StorageBusyError} where a host runs: ask that one */
export async function assertUnneeded(
  directory: string,
  modules: readonly string[],
  environment?: Environment,
): Promise<void> {
  await withStorage(directory, environment, async (storage) => {
    const lock = await readLock(directory)
    await assertNobodyNeeds(modules, lock.modules, () => servingHosts(storage))
  })
}

/** The hosts that serve from the application's database while none runs in this folder. @throws {StorageBusyError} */
export async function otherHosts(directory: string, environment?: Environment): Promise<ServingHost[]> {
  return withStorage(directory, environment, servingHosts)
}

/** The schema of an application that has no database yet is empty. @throws {StorageBusyError} where a host runs: ask that one */
export async function databaseSchema(directory: string, environment?: Environment): Promise<DatabaseSchema> {
  if (await isDatabaseStillToCome(await readConfig(directory, environment)))
    return { statements: [], ledger: [] }
  return withStorage(directory, environment, (storage) => storage.schema())
}

/** See `Storage.copyTo`. @throws {StorageBusyError} where a host runs: ask that one */
export async function copyDatabase(
  directory: string,
  file: string,
  environment?: Environment,
): Promise<void> {
  await changeStorage(directory, environment, (storage) => storage.copyTo(file))
}

/**
 * The same for a backup, which keeps no command and no host from a SQLite file meanwhile.
 * @throws {StorageBusyError} only where there is no database yet, and somebody makes it
 */
export async function copyDatabaseBeside(
  directory: string,
  file: string,
  environment?: Environment,
): Promise<void> {
  const config = await readConfig(directory, environment)
  const { databaseFile } = config
  if (databaseFile === undefined || (await isDatabaseStillToCome(config))) {
    return await copyDatabase(directory, file, environment)
  }
  await changeStorage(directory, environment, async () => {}).catch((error) => {
    // Otherwise the records wait for the next command.
    if (error instanceof IdentityError) throw error
  })
  try {
    await copySqlite(databaseFile, file)
  } catch (error) {
    const { path = databaseFile } = error as NodeJS.ErrnoException
    throw Object.assign(error as Error, { path })
  }
}

/** See `readAudit`. @throws {StorageBusyError} where a host runs: ask that one */
export async function auditTrail(
  directory: string,
  query: AuditQuery,
  environment?: Environment,
): Promise<AuditRecord[]> {
  if (await isDatabaseStillToCome(await readConfig(directory, environment)))
    return readAudit(directory, undefined, query)
  return withStorage(directory, environment, (storage) => readAudit(directory, storage, query))
}

/** See `readReactions`. @throws {StorageBusyError} where a host runs: ask that one */
export async function reactionsState(
  directory: string,
  limit: number,
  environment?: Environment,
): Promise<ReactionsState> {
  const none = { subscriptions: [], failed: [] }
  if (await isDatabaseStillToCome(await readConfig(directory, environment))) return none
  return withStorage(directory, environment, async (storage) => {
    if (!hasReactions(await storage.applied())) return none
    return storage.snapshot(() => readReactions(limit))
  })
}

/** See `replay`. @throws {StorageBusyError} where a host runs: ask that one */
export async function replayReactions(
  directory: string,
  choice: FailedChoice,
  environment?: Environment,
): Promise<ChosenReaction[]> {
  return changeStorage(directory, environment, async (storage) => {
    await migrateHost(storage)
    return storage.transaction(() => replay(choice))
  })
}

/** See `discard`. @throws {StorageBusyError} where a host runs: ask that one */
export async function discardReactions(
  directory: string,
  choice: FailedChoice & { readonly event: string },
  record: OperatorRecord,
  environment?: Environment,
): Promise<ChosenReaction[]> {
  return changeStorage(directory, environment, async (storage) => {
    await migrateHost(storage)
    return storage.transaction(() => discard(choice, record))
  })
}

/** Drops the tables of a module that is not installed, and forgets how far it had got with events. @throws {StorageBusyError} where a host runs: ask that one */
export async function purgeModule(
  directory: string,
  module: string,
  record: OperatorRecord,
  environment?: Environment,
): Promise<ModuleData> {
  return changeStorage(directory, environment, async (storage) => {
    await migrateHost(storage)
    await assertNobodyNeeds([module], {}, () => servingHosts(storage))
    return purgeData(storage, module, record)
  })
}

/**
 * Brings back what `extractModule` has written to `file`.
 * @param sets the migrations of all packages at hand
 * @throws {StorageBusyError} where a host runs: stop it
 */
export async function restoreModule(
  directory: string,
  file: string,
  sets: readonly MigrationSet[],
  record: OperatorRecord,
  environment?: Environment,
): Promise<ModuleData> {
  return changeStorage(directory, environment, async (storage) => {
    await migrateHost(storage)
    return storage.restoreModule(file, sets, insertion(record))
  })
}

/** The OpenAPI document of what is installed. @throws {StorageBusyError} where a host runs: ask that one */
export async function describeApplication(directory: string, environment?: Environment): Promise<unknown> {
  return withStorage(directory, environment, async (storage, config) => {
    const installed = await InstalledModules.start({
      config,
      storage,
      logger: createLogger({ ...config.log, level: 'silent' }),
      tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
      notReady: () => undefined,
    })
    try {
      return (await installed.app.inject(`${config.basePath}/openapi.json`)).json()
    } finally {
      await installed.close()
    }
  })
}

export interface ApplicationToken {
  readonly directory: string
  readonly subject: string
  /** Scopes with spaces between. */
  readonly scope?: string | undefined
  /** A number and one of s, m, h, d, w, y: `15m`, `30d`. */
  readonly expiresIn: string
  readonly environment?: Environment | undefined
}

/**
 * Signs a JWT with the application's own secret.
 * @throws {IdentityError} where it is another one than that of the last start
 * @throws {ConfigError} where it has none; TypeError for a wrong value
 */
export async function mintApplicationToken(token: ApplicationToken): Promise<string> {
  const config = await readConfig(token.directory, token.environment)
  assertOwnSecret(config, await readIdentity(token.directory))
  const own = ownIssuer(config)
  if (own) return mintToken({ ...own, ...token })
  throw new ConfigError(
    `the application cannot sign tokens: it needs "auth.issuer" in its config and a secret in ${secretFile(token.directory)} or APP_SECRET`,
  )
}

type Work<Result> = (storage: Storage, config: Config) => Promise<Result>

/** For what changes the database, or copies it: with what waits for the audit trail. */
function changeStorage<Result>(
  directory: string,
  environment: Environment | undefined,
  work: Work<Result>,
): Promise<Result> {
  return withStorage(directory, environment, async (storage, config) => {
    // Where that fails they wait for the next one.
    await takeInRecords(directory, storage).catch(() => {})
    return await work(storage, config)
  })
}

async function withStorage<Result>(
  directory: string,
  environment: Environment | undefined,
  work: Work<Result>,
): Promise<Result> {
  const config = await readConfig(directory, environment)
  const storage = await openApplicationStorage(config, { onFatal: rethrow })
  try {
    return await work(storage, config)
  } finally {
    await storage.close()
  }
}

function rethrow(error: Error): never {
  throw error
}
