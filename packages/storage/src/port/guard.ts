import type { Sql } from '@mortise/module-sdk'

/** Why a statement may not run: it names a table of others, or the rest of a sentence about it. */
export type Offence = { readonly table: string } | { readonly reason: string }

/** Judges the statements of one module by what the engine finds in them. */
export interface Guard {
  /** The form of a query for this engine. */
  form(query: Sql): Sql
  /**
   * Undefined for a statement that may run.
   * @param query in its form for this engine
   * @throws {DatabaseError} for invalid SQL
   */
  offence(query: Sql): Offence | undefined
}

/** The reason for all statements but reads and writes of rows. */
export const onlyRows = (word: string) =>
  `runs ${word}, but a module reads and writes rows: SELECT, INSERT, UPDATE, DELETE. Change tables in a migration`
