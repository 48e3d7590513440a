export type { Engine } from '@mortise/module-sdk'
export { dropExtraTables, toSqlite } from './archive/portable-file.ts'
export { acquireFileLock, databaseLockFile, type FileLock } from './files/file-lock.ts'
export { makeFolder } from './files/make-folder.ts'
export { openNoFileOutside } from './files/open-database.ts'
export { parseJson, readJsonFile, UnreadableFileError } from './files/read-json-file.ts'
export { readOptionalText, readText } from './files/read-text.ts'
export { skipSyncs, syncPath } from './files/sync-path.ts'
export { modeOf, publish, replaceFile, writeDurably, writeNewDurably } from './files/write-durably.ts'
export { inspectDatabase } from './inspect-database.ts'
export type { DatabaseInspection } from './migrations/compare-migrations.ts'
export { readMigrations } from './migrations/migration-files.ts'
export {
  type DatabaseAddress,
  engineOf,
  type OpenOptions,
  openStorage,
  type StorageOptions,
} from './open-storage.ts'
export { endWithParent } from './port/end-with-parent.ts'
export { engineNames, engines } from './port/engines.ts'
export {
  BrokenStorageError,
  DatabaseLockedError,
  EngineError,
  isFull,
  isLocked,
  isRefusal,
  MigrationError,
  NoDatabaseError,
  StillNeededError,
  StorageBusyError,
  StorageRefusedError,
  StorageUnfitError,
  StorageUnreachableError,
  UnknownMigrationError,
} from './port/errors.ts'
export type { Guard, Offence } from './port/guard.ts'
export { MOST_ROWS } from './port/read-limit.ts'
export { RecentRefusals } from './port/recent-refusals.ts'
export type { Outbox } from './port/steps.ts'
export { generatorOf, kindOf, lookAt, StatementCheck } from './port/steps.ts'
export type {
  AppliedMigration,
  DatabaseContents,
  DatabaseSchema,
  LedgerEntry,
  MigrationSet,
  ModuleData,
  Refusing,
  Storage,
  StorageObserver,
} from './port/storage.ts'
export { isPostgresUrl, parsePostgresUrl } from './postgres/postgres-url.ts'
export { type ForeignObject, postgresData, type RestoredTable } from './postgres-data.ts'
export { readContents } from './read-contents.ts'
export { copyDatabase } from './sqlite/copy-database.ts'
export { type Column, describeTables, type Table } from './sqlite/describe-tables.ts'
export { extractModule } from './sqlite/extract-module.ts'
export { findCorruption } from './sqlite/find-corruption.ts'
export { reservedBytes, type Volume, volumeOf } from './sqlite/free-space.ts'
export { changeDatabaseFile, readDatabaseFile } from './sqlite/read-file.ts'
export { readFileContents } from './sqlite/read-file-contents.ts'
export { type ForeignParts, takeOutForeign } from './sqlite/take-out-foreign.ts'
