export { Application, type ApplicationOptions } from './application.ts'
export type { AuditQuery, AuditRecord, OperatorRecord, Outcome } from './audit/audit-trail.ts'
export { leaveRecord, readWaiting } from './audit/waiting-records.ts'
export { mintToken } from './callers/mint-token.ts'
export { createTokenVerifier } from './callers/tokens.ts'
export {
  assertHostSettings,
  type Config,
  moduleSettings,
  nameOfDatabaseSetting,
  ownIssuer,
  placeOfDatabase,
  readConfig,
  readEnvFileSetting,
  secretFile,
  tokenIssuers,
} from './config.ts'
export { configSchema } from './config-schema.ts'
export {
  type ControlAnswer,
  type ControlRequest,
  callRunningHost,
  type HeldWrites,
  holdWrites,
} from './control/call-running-host.ts'
export type { ApplicationState, HostEnvironment } from './control/control-server.ts'
export { controlSocket } from './control/control-socket.ts'
export { HostGoneError, HostSilentError } from './control/host-gone-error.ts'
export type { PendingSetting } from './control/pending-settings.ts'
export { tellingWaits } from './control/silence.ts'
export { createHost, type HostParts } from './create-host.ts'
export { EventLog } from './events/event-log.ts'
export type {
  ChosenReaction,
  FailedChoice,
  FailedReaction,
  ReactionsState,
  SubscriptionState,
} from './events/failed-reactions.ts'
export { differences, nameOfHost, type ServingHost } from './hosts/serving-host.ts'
export { createServer } from './http/server.ts'
export {
  assertOwnDatabase,
  assertOwnSecret,
  forgetDatabase,
  type Identity,
  IdentityError,
  identityFile,
  identityProblems,
  newIdentity,
  readIdentity,
  writeIdentity,
} from './identity.ts'
export { createLogger, linesForPeople } from './logger.ts'
export { makeFolder } from './make-folder.ts'
export { inContractOrder } from './modules/contract-registry.ts'
export {
  type Generation,
  type Generations,
  newestGeneration,
  readGenerations,
  recordGeneration,
} from './modules/generation-records.ts'
export { hashTree } from './modules/hash-tree.ts'
export { ModuleError } from './modules/host-module.ts'
export { isLock } from './modules/is-lock.ts'
export { lentPackages } from './modules/lend-peers.ts'
export { loadPlugin } from './modules/load-plugin.ts'
export {
  configFile,
  differenceOf,
  emptyLock,
  Lock,
  LockError,
  LockedModule,
  LockedPackage,
  lockedPackages,
  lockFile,
  readLock,
  storeDirectory,
  storedModule,
  writeLock,
} from './modules/lock.ts'
export { migrateHost } from './modules/migrate-host.ts'
export { hostMigrations, moduleMigrations } from './modules/migration-sets.ts'
export type { ObservedModule } from './modules/observe-module.ts'
export { observe, type ProbedModule, type ProbeReport, probe } from './modules/probe.ts'
export { ManifestError, type ModulePackage, readPackage } from './modules/read-package.ts'
export { replaceFile } from './modules/replace-file.ts'
export { publish, writeDurably, writeNewDurably } from './modules/write-durably.ts'
export { nearest } from './nearest.ts'
export { NewerHostError } from './newer-host-error.ts'
export {
  type ApplicationToken,
  assertUnneeded,
  auditTrail,
  copyDatabase,
  copyDatabaseBeside,
  databaseSchema,
  describeApplication,
  discardReactions,
  migrateApplication,
  mintApplicationToken,
  otherHosts,
  purgeModule,
  reactionsState,
  replayReactions,
  restoreModule,
  undoMigrations,
} from './offline.ts'
export type { JsonSchema, OpenapiDocument, Operation } from './operations/openapi-document.ts'
export { parseJson, readJsonFile, UnreadableFileError } from './read-json-file.ts'
export { readOptionalText, readText } from './read-text.ts'
export { ConfigError, checkSettings, overrideFromEnvironment, variableOf } from './settings.ts'
export { commandLockFile, completeTakingBack, isTakingBackLeft } from './settling/take-back.ts'
export { readContents } from './storage/database-contents.ts'
export type { DatabaseInspection } from './storage/database-inspection.ts'
export { type Column, describeTables, type Table } from './storage/describe-tables.ts'
export { inspectDatabase } from './storage/inspect-database.ts'
export { type DatabasePlace, openStorage } from './storage/open-storage.ts'
export { parsePostgresUrl } from './storage/postgres/postgres-url.ts'
export { type Move, postgresData, type Reconciled } from './storage/postgres-data.ts'
export { damageOf } from './storage/sqlite/damage-of.ts'
export { BrokenStorageError, isFull } from './storage/sqlite/database-error.ts'
export { extractModule } from './storage/sqlite/extract-module.ts'
export { acquireFileLock, databaseLockFile } from './storage/sqlite/file-lock.ts'
export { forgetIdentity } from './storage/sqlite/forget-identity.ts'
export { keptFree, volumeOf } from './storage/sqlite/free-space.ts'
export { toSqlite } from './storage/sqlite/portable-file.ts'
export { readFileContents } from './storage/sqlite/read-contents.ts'
export { readFileId } from './storage/sqlite/read-file-id.ts'
export {
  type AppliedMigration,
  type DatabaseContents,
  type DatabaseSchema,
  EngineError,
  MigrationError,
  type MigrationSet,
  type ModuleData,
  StillNeededError,
  type Storage,
  StorageBusyError,
  StorageUnreachableError,
} from './storage/storage.ts'
export { syncPath } from './sync-path.ts'
export { inTemporaryFolder, temporaryPrefix } from './temporary-folder.ts'
export { hostVersion, isInHostRange } from './version.ts'
export { withoutDefaulted } from './without-defaulted.ts'
export { reportFailure, serveParent } from './workers/serve-parent.ts'
export { showPulse } from './workers/show-pulse.ts'
export type { WorkerFailure } from './workers/worker-messages.ts'
export { WorkerPool } from './workers/worker-pool.ts'
export { WorkerEndedError } from './workers/worker-process.ts'
