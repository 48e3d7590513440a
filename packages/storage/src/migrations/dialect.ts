import type { Sql } from '@mortise/module-sdk'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import type { SchemaObject } from './foreign-change.ts'
import type { MigrationFile } from './migration-files.ts'

/** SQL text; one statement, whose result is its rows; or the engine's own work. */
export type SchemaStep = string | Sql | (() => unknown)

/** A part of a schema change. An engine runs its steps one by one, in one transaction. */
// biome-ignore lint/suspicious/noExplicitAny: an engine answers each step in that step's own shape
export type SchemaSteps<Result> = Generator<SchemaStep, Result, any>

export interface OrphanRow {
  readonly table: string
  readonly parent: string
}

/** The engine-specific parts of migrations. */
export interface Dialect<
  Entry extends LedgerEntry = LedgerEntry,
  File extends MigrationFile = MigrationFile,
> {
  readonly ledger: {
    /** Creates the ledger if it is missing. */
    readonly create: string
    /** Finds a row if there is a ledger. */
    readonly find: Sql
    /** The columns that only this engine has, by their property of an entry. */
    readonly more: Readonly<Record<string, string>>
    /** The column that counts rows in the order of application; clocks do not. */
    readonly order: string
  }
  /** The ledger entry of a migration that is applied now. */
  entryOf(set: MigrationSet, file: File): Entry
  /** Finds everything in the schema. */
  readonly objects: Sql
  /** Finds the names of the relations of other roles; absent if the engine has no roles. */
  readonly ofOthers?: Sql
  /** Runs `work`, which runs all migrations of a set, in an empty schema, and rolls it back. */
  alone(work: () => SchemaSteps<void>): SchemaSteps<void>
  /** Finds a row with a missing parent; absent if the engine checks that itself. */
  orphanIn?(prefixes: readonly string[]): SchemaSteps<OrphanRow | undefined>
  /**
   * Drops all objects of a module.
   * @returns the dropped tables
   * @throws {MigrationError} if others depend on them
   */
  drop(module: string, objects: readonly SchemaObject[]): SchemaSteps<string[]>
}
