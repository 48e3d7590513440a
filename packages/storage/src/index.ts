export { readContents } from './database-contents.ts'
export type { DatabaseInspection } from './database-inspection.ts'
export { type Column, describeTables, type Table } from './describe-tables.ts'
export { endWithParent } from './end-with-parent.ts'
export { acquireFileLock, databaseLockFile, type FileLock } from './files/file-lock.ts'
export { makeFolder } from './files/make-folder.ts'
export { parseJson, readJsonFile, UnreadableFileError } from './files/read-json-file.ts'
export { readOptionalText, readText } from './files/read-text.ts'
export { replaceFile } from './files/replace-file.ts'
export { syncPath } from './files/sync-path.ts'
export { publish, writeDurably, writeNewDurably } from './files/write-durably.ts'
export { generatorOf, kindOf } from './generator-of.ts'
export { inspectDatabase } from './inspect-database.ts'
export { isRefusal, isTold } from './is-refusal.ts'
export { readMigrations } from './migration-files.ts'
export { lasts, now, TOLERANCE } from './now.ts'
export { type DatabasePlace, type OpenOptions, openStorage, type StorageOptions } from './open-storage.ts'
export type { Outbox } from './outbox.ts'
export { isPostgresUrl, parsePostgresUrl } from './postgres/postgres-url.ts'
export { type Move, postgresData, type Reconciled } from './postgres-data.ts'
export { MOST_ROWS } from './read-limit.ts'
export { RecentRefusals } from './recent-refusals.ts'
export { copyDatabase } from './sqlite/copy-database.ts'
export { damageOf } from './sqlite/damage-of.ts'
export { BrokenStorageError, isFull } from './sqlite/database-error.ts'
export { extractModule } from './sqlite/extract-module.ts'
export { keptFree, volumeOf } from './sqlite/free-space.ts'
export { toSqlite } from './sqlite/portable-file.ts'
export { readFileContents } from './sqlite/read-contents.ts'
export { changeDatabaseFile, readDatabaseFile } from './sqlite/read-file.ts'
export {
  type AppliedMigration,
  type DatabaseContents,
  type DatabaseSchema,
  type Engine,
  EngineError,
  type LedgerEntry,
  MigrationError,
  type MigrationSet,
  type ModuleData,
  NoDatabaseError,
  type Refusing,
  StillNeededError,
  type Storage,
  StorageBusyError,
  type StorageObserver,
  StorageUnreachableError,
} from './storage.ts'
