import { isOwnObject, prefixesOf } from '../migrations/module-prefixes.ts'
import { MigrationError } from '../port/errors.ts'
import { quoted } from '../port/quoted.ts'
import type { ModuleData } from '../port/storage.ts'
import { readCatalog } from './catalog.ts'
import { type Query, readLedger } from './ledger.ts'
import { run } from './migrate.ts'

/** See `Storage.purge`. Within a transaction. */
export async function purgeModule(
  query: Query,
  module: string,
  record: () => Promise<unknown>,
): Promise<ModuleData> {
  const ledger = await readLedger(query)
  if (!ledger.some((entry) => entry.module === module)) return { module, tables: [] }
  const objects = (await readCatalog(query)).filter(isOwnObject(prefixesOf(ledger, module)))
  const named = (type: string) => objects.filter((object) => object.type === type).map(({ name }) => name)
  const refuse = (reason: string) =>
    `the tables of ${module} cannot be dropped: ${reason}. Purge first what needs them`
  const tables = named('table')
  // All at once, so that those that refer to each other do not stand in each other's way.
  for (const [kind, names] of [
    ['VIEW', named('view')],
    ['TABLE', tables],
  ] as const) {
    if (names.length > 0) await run(query, `DROP ${kind} ${names.map(quoted).join(', ')}`, refuse)
  }
  const left = (await readCatalog(query)).find(isOwnObject(prefixesOf(ledger, module)))
  if (left !== undefined) {
    throw new MigrationError(
      `the data of ${module} cannot be dropped: the ${left.type} "${left.name}" is more than tables and views. ` +
        'Drop it by hand, then try again',
    )
  }
  await query('DELETE FROM mortise_migration WHERE module = $1', [module])
  await record()
  return { module, tables }
}
