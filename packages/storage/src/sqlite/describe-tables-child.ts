import { readMigrations } from '../migrations/migration-files.ts'
import { endWithParent } from '../port/end-with-parent.ts'
import { MigrationError } from '../port/errors.ts'
import type { MigrationSet } from '../port/storage.ts'
import type { Table, TablesResult } from './describe-tables.ts'
import { tablesOnEmptyDatabase } from './tables-on-empty-database.ts'

// The child process of describeTables: responds in JSON.

async function describe(set: MigrationSet): Promise<TablesResult> {
  try {
    const tables: Table[] = tablesOnEmptyDatabase(set, await readMigrations(set, 'sqlite'))
    return { tables }
  } catch (error) {
    if (error instanceof MigrationError) return { reason: error.message }
    throw error
  }
}

const [, , set = '', parent] = process.argv
await endWithParent(Number(parent))
process.stdout.write(JSON.stringify(await describe(JSON.parse(set))))
