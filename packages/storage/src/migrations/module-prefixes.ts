import { MigrationError } from '../port/errors.ts'
import type { LedgerEntry } from '../port/storage.ts'
import type { Dialect, SchemaSteps } from './dialect.ts'
import { isOwn, type SchemaObject } from './foreign-change.ts'

/** Whether the tables with this prefix are the host's, which has the ledger among them. */
export const isOfHost = (prefix: string): boolean => isOwn(prefix, 'mortise_migration')

/** @throws {MigrationError} if another module shares them */
export function prefixesOf(ledger: readonly LedgerEntry[], module: string): string[] {
  const prefixes = new Set(ledger.filter((entry) => entry.module === module).map(({ tables }) => tables))
  if ([...prefixes].some(isOfHost)) {
    throw new MigrationError(`the tables of ${module} belong to the host and stay`)
  }
  for (const { module: other, tables } of ledger) {
    if (other === module) continue
    for (const prefix of prefixes) {
      if (!isOwn(prefix, tables) && !isOwn(tables, prefix)) continue
      throw new MigrationError(
        `the tables of ${module} ("${prefix}") overlap with the tables of ${other} ("${tables}")`,
      )
    }
  }
  return [...prefixes]
}

/** Tests whether an object is a module's: by its name, and by the owner of its table. */
export function* isOwnObject(
  { ofOthers }: Pick<Dialect, 'ofOthers'>,
  prefixes: readonly string[],
): SchemaSteps<(object: SchemaObject) => boolean> {
  const rows: { name: string }[] = ofOthers ? yield ofOthers : []
  const others = new Set(rows.map(({ name }) => name))
  return ({ name, table }) => prefixes.some((prefix) => isOwn(prefix, name)) && !others.has(table)
}
