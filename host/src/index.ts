// What commands need of an application. It loads no Fastify: what serves is in serving.ts.

export * from '@mortise/storage'
export { secondsOfLifetime } from './callers/lifetime.ts'
export { mintApplicationToken, mintToken } from './callers/mint-token.ts'
export { nearest } from './config/closest-names.ts'
export {
  assertHostSettings,
  type Config,
  configFile,
  databaseAddress,
  nameOfDatabaseSetting,
  ownIssuer,
  readConfig,
  readSecrets,
  secretFile,
  tokenIssuers,
} from './config/config.ts'
export { configSchema } from './config/config-schema.ts'
export { keptTables, readDatabaseId, readFileId, removeIdentity } from './config/database-id.ts'
export { readPlace } from './config/database-place.ts'
export { EnvFileError, loadEnvFile, unloadEnvFile, withoutEnvFile } from './config/env-file.ts'
export { assertSettings, endEvaluation, settingFaults } from './config/evaluate-apart.ts'
export { firstError } from './config/first-error.ts'
export * from './config/identity.ts'
export { moduleSettings } from './config/module-settings.ts'
export { NewerHostError } from './config/newer-host-error.ts'
export { formatSecrets, parseSecrets, rotated, type Secrets } from './config/secrets.ts'
export {
  ConfigError,
  checkSettings,
  type Environment,
  overrideFromEnvironment,
  variableOf,
} from './config/settings.ts'
export * from './config/temporary-folder.ts'
export { hostVersion, isInHostRange } from './config/version.ts'
export { withoutDefaulted } from './config/without-defaulted.ts'
export type { ApplicationState } from './control/application-state.ts'
export { callApplication, runWithoutHost } from './control/call-application.ts'
export { callRunningHost, stateWithin } from './control/call-running-host.ts'
export { controlSocket } from './control/control-socket.ts'
export * from './control/host-errors.ts'
export type { HostEnvironment } from './control/operations/reads.ts'
export { pauseWrites } from './control/pause-writes.ts'
export type { PendingSetting } from './control/pending-settings.ts'
export { reportingWaits } from './control/response-deadline.ts'
export { type AuditRecord, BegunRecord, type OperatorRecord, type Outcome } from './events/audit-trail.ts'
export { EventLog, openStorage } from './events/event-log.ts'
export type { FailedEvent } from './events/failed-event-queries.ts'
export type { JobsState } from './events/job-queries.ts'
export { readPendingRecords, writePendingRecord } from './events/pending-records.ts'
export * from './generations/generation-records.ts'
export type { Measured } from './generations/measure-modules.ts'
export { forgetEnds } from './generations/module-ends.ts'
export { readPresentQuarantine, readQuarantine } from './generations/quarantine.ts'
export { commandLockFile, completeRevert, hasUnfinishedRevert } from './generations/revert-change.ts'
export { type Inspect, observe, type ProbeReport, probe } from './generations/run-probe.ts'
export { differences, hostLabel, type ServingHost, servedModule } from './generations/serving-host.ts'
export { type DatabaseInspection, inspectDatabase } from './inspect-database.ts'
export { inContractOrder } from './modules/contract-registry.ts'
export * from './modules/decision.ts'
export { locationOf } from './modules/error-location.ts'
export { hashTree } from './modules/hash-tree.ts'
export { type ActiveModule, ModuleError } from './modules/host-module.ts'
export { loadPlugin } from './modules/load-plugin.ts'
export * from './modules/lock-file.ts'
export { migrateHost } from './modules/migrate-host.ts'
export { hostMigrations, moduleMigrations } from './modules/migration-sets.ts'
export { isLoaded, isServing, type ModuleState, unknownState } from './modules/module-state.ts'
export { hostPaths, ownedPath } from './modules/path-owners.ts'
export { providedPackages } from './modules/provide-peers.ts'
export * from './modules/read-package.ts'
export type { JsonSchema, OpenapiDocument, Operation } from './routes/openapi-document.ts'
