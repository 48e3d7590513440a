import type { Sql } from '@mortise/module-sdk/sql'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import type { SchemaSteps } from '../migrations/dialect.ts'
import { isOwn } from '../migrations/foreign-change.ts'
import * as migrations from '../migrations/restore-module.ts'
import { MigrationError } from '../port/errors.ts'
import type { ModuleData } from '../port/storage.ts'
import type { Query } from './change-schema.ts'
import { dialect } from './dialect.ts'
import { restoreRows, type SourceFile } from './restore-rows.ts'

/** See `Storage.restoreModule`. */
export function restoreModule(
  client: Client,
  query: Query,
  file: string,
  source: SourceFile,
  record?: Sql,
): SchemaSteps<ModuleData> {
  const copy = function* (prefixes: readonly string[]): SchemaSteps<string[]> {
    const isMeant = (name: string) => prefixes.some((prefix) => isOwn(prefix, name))
    return yield () => restoreRows(client, query, source, isMeant).catch(refuseOrphans)
  }
  return migrations.restoreModule(dialect, file, source.ledger, copy, record)
}

function refuseOrphans(error: Error): never {
  if (!(error instanceof DatabaseError) || error.kind !== 'foreign-key') throw error
  throw new MigrationError(
    `rows in the archive refer to rows that no longer exist: ${error.message}. Nothing was changed`,
    { cause: error },
  )
}
