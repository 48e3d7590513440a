import { readMigrations } from '../migrations/migration-files.ts'
import { endWithParent } from '../port/end-with-parent.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { Described, TablesResult } from './describe-tables.ts'
import { partsOnEmptyDatabase, tablesOnEmptyDatabase } from './tables-on-empty-database.ts'

// The child process of describeTables: responds in JSON.

const kinds = { tables: tablesOnEmptyDatabase, parts: partsOnEmptyDatabase }

async function describe(set: MigrationSet, kind: keyof Described): Promise<TablesResult> {
  try {
    return { [kind]: kinds[kind](set, await readMigrations(set, 'sqlite')) }
  } catch (error) {
    if (error instanceof MigrationError) return { reason: error.message }
    throw error
  }
}

const [, , set = '', parent, kind] = process.argv
await endWithParent(Number(parent))
process.stdout.write(JSON.stringify(await describe(JSON.parse(set), kind as keyof Described)))
