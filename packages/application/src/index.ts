// The folder of an application: its configuration, identity, secrets, lock file and records.

export { checkedSchemas, checkSchema } from './config/check-schema.ts'
export { nearest } from './config/closest-names.ts'
export { codeFolders } from './config/code-folders.ts'
export {
  assertHostSettings,
  type Config,
  configFile,
  databaseAddress,
  nameOfDatabase,
  nameOfDatabaseSetting,
  ownIssuer,
  readConfig,
  readSecrets,
  secretFile,
  tokenIssuers,
} from './config/config.ts'
export { configSchema } from './config/config-schema.ts'
export {
  type DatabaseId,
  findDatabaseId,
  isMigrated,
  keptTables,
  readDatabaseId,
  readFileId,
  removeIdentity,
} from './config/database-id.ts'
export { type DatabasePlace, readPlace } from './config/database-place.ts'
export { describeSchema } from './config/describe-schema.ts'
export { drainSecondsOf, stoppingMessage } from './config/drain-seconds.ts'
export { EnvFileError, loadEnvFile, unloadEnvFile, withoutEnvFile } from './config/env-file.ts'
export { assertSettings, endEvaluation, settingFaults } from './config/evaluate-apart.ts'
export { compileSchema, firstError } from './config/first-error.ts'
export {
  assertOwnDatabase,
  assertOwnSecret,
  Identity,
  IdentityError,
  identityFile,
  identityProblems,
  newIdentity,
  readIdentity,
  remember,
  rememberSecret,
  removeDatabaseIdentity,
  writeIdentity,
} from './config/identity.ts'
export { moduleSettings } from './config/module-settings.ts'
export { NewerHostError } from './config/newer-host-error.ts'
export { clauseOf, type SchemaError, schemaErrors } from './config/schema-errors.ts'
export { assertScopes, isScope } from './config/scope.ts'
export { fingerprintOf, formatSecrets, parseSecrets, rotated, type Secrets } from './config/secrets.ts'
export {
  ConfigError,
  checkSettings,
  type Environment,
  overrideFromEnvironment,
  variableOf,
} from './config/settings.ts'
export { inLockedFolder, inTemporaryFolder, temporaryPrefix } from './config/temporary-folder.ts'
export {
  assertIssuers,
  isKeyUrl,
  type OwnIssuer,
  RemoteIssuer,
  type SigningAlgorithm,
  signingAlgorithms,
  type TokenIssuer,
} from './config/token-issuer.ts'
export { withoutDefaulted } from './config/without-defaulted.ts'
export {
  type Decision,
  decide,
  decisionAt,
  decisionOf,
  decisionText,
  endOf,
  isBrought,
} from './modules/decision.ts'
export { hashTree } from './modules/hash-tree.ts'
export {
  differenceOf,
  emptyLockFile,
  foldersToLoad,
  GenerationNumber,
  isLockFile,
  isModuleId,
  LockedModule,
  LockedPackage,
  LockFile,
  LockFileError,
  lockedPackages,
  lockFilePath,
  modulesToLoad,
  readLockFile,
  storeDirectory,
  storedModule,
  writeLockFile,
} from './modules/lock-file.ts'
export { isLoaded, isServing, type ModuleState, moduleStates, unknownState } from './modules/module-state.ts'
export {
  checkManifest,
  ManifestError,
  type ModulePackage,
  NoManifestError,
  readNewPackage,
  readPackage,
} from './modules/read-package.ts'
export {
  type Generation,
  type Generations,
  newestGeneration,
  readGenerations,
  recordGeneration,
} from './records/generation-records.ts'
export { BegunRecord, OperatorRecord, type Outcome } from './records/operator-record.ts'
export { readPendingRecords, removePendingRecord, writePendingRecord } from './records/pending-records.ts'
