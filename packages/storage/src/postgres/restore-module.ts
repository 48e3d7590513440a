import { isDeepStrictEqual } from 'node:util'
import { DatabaseError } from '@mortise/module-sdk'
import type { Client } from 'pg'
import { isOwnObject, prefixesOf } from '../migrations/module-prefixes.ts'
import { MigrationError } from '../port/errors.ts'
import type { ModuleData } from '../port/storage.ts'
import { readCatalog } from './catalog.ts'
import { type PostgresLedgerEntry, type Query, readLedger } from './ledger.ts'
import { restoreRows, type SourceFile } from './restore-rows.ts'

/** See `Storage.restoreModule`. Within a transaction. */
export async function restoreModule(
  client: Client,
  query: Query,
  source: SourceFile,
  record: () => Promise<unknown>,
): Promise<ModuleData> {
  const entries = source.ledger
  const module = entries[0]?.module
  if (module === undefined || entries.some((entry) => entry.module !== module)) {
    throw new MigrationError('the file does not hold the data of one module')
  }
  const ledger = await readLedger(query)
  const present = ledger.filter((entry) => entry.module === module)
  if (isDeepStrictEqual(present.map(identity), entries.map(identity))) return { module, tables: [] }
  if (present.length > 0) throw inTheWay(module, `${present.at(-1)?.name} of it is applied to the database`)
  const prefixes = prefixesOf([...ledger, ...entries], module)
  const taken = (await readCatalog(query)).find(isOwnObject(prefixes))
  if (taken !== undefined) throw inTheWay(module, `there is a ${taken.type} "${taken.name}"`)
  try {
    const tables = await restoreRows(client, query, source, prefixes)
    await record()
    return { module, tables }
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.kind !== 'foreign-key') throw error
    throw new MigrationError(
      `rows in the archive refer to rows that are gone by now: ${error.message}. Nothing was changed`,
      { cause: error },
    )
  }
}

const identity = ({ name, checksum, appliedAt }: PostgresLedgerEntry) => [name, checksum, appliedAt]

function inTheWay(module: string, reason: string): MigrationError {
  return new MigrationError(
    `the data of ${module} cannot be brought back: ${reason}. Nothing was changed; purge what is there first ` +
      `(app module-remove --purge ${module})`,
  )
}
