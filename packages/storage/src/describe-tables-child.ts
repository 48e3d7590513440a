import type { Table, TablesAnswer } from './describe-tables.ts'
import { endWithParent } from './end-with-parent.ts'
import { readMigrations } from './migration-files.ts'
import { tablesAlone } from './sqlite/tables-alone.ts'
import { MigrationError, type MigrationSet } from './storage.ts'

// The child process of describeTables: answers in JSON.

async function answer(set: MigrationSet): Promise<TablesAnswer> {
  try {
    const tables: Table[] = tablesAlone(set, await readMigrations(set, 'sqlite'))
    return { tables }
  } catch (error) {
    if (error instanceof MigrationError) return { reason: error.message }
    throw error
  }
}

const [, , set = '', parent] = process.argv
await endWithParent(Number(parent))
process.stdout.write(JSON.stringify(await answer(JSON.parse(set))))
