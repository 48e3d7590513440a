export {
  type AppliedMigration,
  acquireFileLock,
  BrokenStorageError,
  type Column,
  type DatabaseContents,
  type DatabasePlace,
  type DatabaseSchema,
  damageOf,
  databaseLockFile,
  describeTables,
  EngineError,
  extractModule,
  isFull,
  keptFree,
  MigrationError,
  type MigrationSet,
  type ModuleData,
  type Move,
  makeFolder,
  modeOf,
  parseJson,
  parsePostgresUrl,
  postgresData,
  publish,
  type Reconciled,
  readContents,
  readFileContents,
  readJsonFile,
  readOptionalText,
  readText,
  replaceFile,
  StillNeededError,
  type Storage,
  StorageBusyError,
  StorageUnreachableError,
  syncPath,
  type Table,
  toSqlite,
  UnreadableFileError,
  volumeOf,
  writeDurably,
  writeNewDurably,
} from '@mortise/storage'
export { Application } from './application.ts'
export { mintApplicationToken } from './callers/mint-application-token.ts'
export { mintToken } from './callers/mint-token.ts'
export { createTokenVerifier } from './callers/tokens.ts'
export {
  assertHostSettings,
  type Config,
  configFile,
  moduleSettings,
  nameOfDatabaseSetting,
  ownIssuer,
  placeOfDatabase,
  readConfig,
  readEnvFileSetting,
  secretFile,
  tokenIssuers,
} from './config/config.ts'
export { configSchema } from './config/config-schema.ts'
export { forgetIdentity, keptTables, readFileId } from './config/database-id.ts'
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
} from './config/identity.ts'
export { nearest } from './config/nearest.ts'
export { NewerHostError } from './config/newer-host-error.ts'
export { ConfigError, checkSettings, overrideFromEnvironment, variableOf } from './config/settings.ts'
export { inTemporaryFolder, temporaryPrefix } from './config/temporary-folder.ts'
export { hostVersion, isInHostRange } from './config/version.ts'
export { withoutDefaulted } from './config/without-defaulted.ts'
export type { ApplicationState } from './control/application-state.ts'
export { callApplication } from './control/call-application.ts'
export { callRunningHost, holdWrites, stateWithin } from './control/call-running-host.ts'
export { controlSocket } from './control/control-socket.ts'
export { HostGoneError, HostRefusedError, HostSilentError } from './control/host-gone-error.ts'
export type { HostEnvironment } from './control/operations/environment.ts'
export type { PendingSetting } from './control/pending-settings.ts'
export { runAlone } from './control/run-alone.ts'
export { tellingWaits } from './control/silence.ts'
export { reportFailure, serveParent } from './control/workers/serve-parent.ts'
export { showPulse } from './control/workers/show-pulse.ts'
export { WorkerPool } from './control/workers/worker-pool.ts'
export { WorkerEndedError } from './control/workers/worker-process.ts'
export type { AuditQuery, AuditRecord, OperatorRecord, Outcome } from './events/audit-trail.ts'
export { EventLog } from './events/event-log.ts'
export type {
  ChosenReaction,
  FailedChoice,
  FailedReaction,
} from './events/failed-reactions.ts'
export { openStorage } from './events/open-storage.ts'
export { leaveRecord, readWaiting } from './events/waiting-records.ts'
export { createHost } from './generations/create-host.ts'
export {
  type Generation,
  type Generations,
  newestGeneration,
  readGenerations,
  recordGeneration,
} from './generations/generation-records.ts'
export { observe, type ProbeReport, probe } from './generations/probe.ts'
export { differences, nameOfHost, type ServingHost } from './generations/serving-host.ts'
export { commandLockFile, completeTakingBack, isTakingBackLeft } from './generations/take-back.ts'
export { type DatabaseInspection, inspectDatabase } from './inspect-database.ts'
export { inContractOrder } from './modules/contract-registry.ts'
export { hashTree } from './modules/hash-tree.ts'
export { ModuleError } from './modules/host-module.ts'
export { isLock } from './modules/is-lock.ts'
export { lentPackages } from './modules/lend-peers.ts'
export { loadPlugin } from './modules/load-plugin.ts'
export {
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
export { ManifestError, type ModulePackage, readPackage } from './modules/read-package.ts'
export type { JsonSchema, OpenapiDocument, Operation } from './routes/openapi-document.ts'
export { createLogger, linesForPeople } from './telemetry/logger.ts'
