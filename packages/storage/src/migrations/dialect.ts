import type { Sql } from '@mortise/module-sdk'
import type { LedgerEntry, MigrationSet } from '../port/storage.ts'
import type { SchemaObject } from './foreign-change.ts'
import type { MigrationFile } from './migration-files.ts'

/** A text of any number of statements; one statement, which answers its rows; or work of an engine's own. */
export type SchemaStep = string | Sql | (() => unknown)

/** A part of a change of the schema. An engine takes its steps one by one, in one transaction. */
// biome-ignore lint/suspicious/noExplicitAny: an engine answers each step in that step's own shape
export type SchemaSteps<Result> = Generator<SchemaStep, Result, any>

export interface OrphanRow {
  readonly table: string
  readonly parent: string
}

/** What each engine says in its own words. */
export interface Dialect<
  Entry extends LedgerEntry = LedgerEntry,
  File extends MigrationFile = MigrationFile,
> {
  readonly ledger: {
    /** Makes the ledger where there is none. */
    readonly create: string
    /** Finds the names of its columns; none where there is no ledger. */
    readonly columns: Sql
    /** The columns that only this engine has, by what an entry calls them. */
    readonly more: Readonly<Record<string, string>>
    /** What its rows count up in the order of application, which no clock does. */
    readonly order: string
  }
  /** What the ledger is to remember of a migration that is applied now. */
  entryOf(set: MigrationSet, file: File): Entry
  /** Finds everything in the schema. */
  readonly objects: Sql
  /** Runs `work`, which runs all migrations of a set, where nothing else is, and undoes that. */
  alone(work: () => SchemaSteps<void>): SchemaSteps<void>
  /** Finds a row whose parent is gone, in the tables with these prefixes; absent where the engine sees to that by itself. */
  orphanIn?(prefixes: readonly string[]): SchemaSteps<OrphanRow | undefined>
  /** Drops what a module has. @returns the tables among it @throws {MigrationError} where others need them */
  drop(module: string, objects: readonly SchemaObject[]): SchemaSteps<string[]>
}
