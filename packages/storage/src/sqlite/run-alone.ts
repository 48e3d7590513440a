import type SqliteDatabase from 'better-sqlite3'
import type { MigrationFile } from '../migrations/migration-files.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'

/** Runs all migrations of a set on an empty database. @throws {MigrationError} */
export function runAlone(
  database: SqliteDatabase.Database,
  set: MigrationSet,
  files: readonly MigrationFile[],
): void {
  database.pragma('foreign_keys = OFF')
  for (const file of files) {
    try {
      database.exec(file.up)
    } catch (cause) {
      throw new MigrationError(
        `${file.path} of ${set.module} failed: ${(cause as Error).message}. A migration sees "${set.tables}" and ` +
          `what begins with "${set.tables}_", and nothing else. Nothing was changed; correct the file`,
        { cause },
      )
    }
  }
}
