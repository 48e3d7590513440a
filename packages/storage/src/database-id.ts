import { sql } from '@mortise/module-sdk'
import type { AppliedMigration, Storage } from './storage.ts'

/** The id of a database; null where it has none yet, undefined where no application is in it. */
export type DatabaseId = string | null | undefined

/** What the ledger tells of the id; 'recorded': see `recordedId`. */
export function idByLedger(applied: readonly AppliedMigration[]): 'recorded' | null | undefined {
  if (applied.length === 0) return undefined
  const canHave = applied.some(({ module, name }) => module === 'host' && name === '010-identity')
  return canHave ? 'recorded' : null
}

export const recordedId = sql`SELECT id FROM mortise_identity`

export async function readDatabaseId(storage: Pick<Storage, 'applied' | 'maybeOne'>): Promise<DatabaseId> {
  const id = idByLedger(await storage.applied())
  return id === 'recorded' ? ((await storage.maybeOne<{ id: string }>(recordedId))?.id ?? null) : id
}
