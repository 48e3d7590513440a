import { currentTime, DAY, type Database, newId, type Transaction, timestamp } from '@mortise/module-sdk'
import { problem } from '../module.ts'
import type { Import, ImportError, NewImport, NewProduct } from '../schemas.ts'
import { importProducts } from '../service.ts'
import * as repository from './import-repository.ts'
import { type Check, readProducts } from './read-products.ts'

/**
 * An import is checked as a whole first, and then stored in short transactions, each with the position
 * that it has reached. Another attempt begins at that position, so each product is stored once.
 */

/** An import is shown for this long, in milliseconds. */
const LIFETIME = 30 * DAY
/** The products of one transaction. */
const BATCH = 50
/** The errors that an import shows. */
const MOST_ERRORS = 100

export function* startImport(
  { file, format, skipInvalid = false }: NewImport,
  now = currentTime(),
): Transaction<Import> {
  const row: repository.ImportRow = {
    id: newId('import'),
    format,
    skipInvalid: skipInvalid ? 1 : 0,
    status: 'waiting',
    products: null,
    done: 0,
    created: 0,
    changed: 0,
    errorCount: 0,
    errors: '[]',
    createdAt: now,
    updatedAt: now,
    expiresAt: now + LIFETIME,
  }
  yield* repository.insertImport(row, file.bytes)
  return toImport(row)
}

export function* showImport(id: string, now = currentTime()): Transaction<Import> {
  const row = yield* repository.findImport(id, now)
  if (row) return toImport(row)
  throw problem('import-not-found')
}

/** Continues an import until it has ended. Another attempt may do the same. */
export async function runImport(
  database: Database,
  id: string,
  check: Check,
  signal: AbortSignal,
): Promise<void> {
  const found = await database.snapshot(() => repository.findFile(id))
  if (!found) return
  const { bytes, ...row } = found
  const entries = () => readProducts(bytes, row.format, check)
  const checked = row.status === 'waiting' ? await checkAll(entries(), row, signal) : row
  if (checked !== row) await database.transaction(() => store(checked, row))
  if (checked.status === 'refused') return

  let [at, number, batch] = [checked, 0, [] as NewProduct[]]
  const storeBatch = async (done: number) => {
    const status = done === at.products ? 'completed' : 'running'
    at = await database.transaction(function* () {
      const { created, changed } = yield* importProducts(batch)
      const next = {
        ...at,
        status,
        done,
        created: at.created + created,
        changed: at.changed + changed,
      } as const
      yield* store(next, at)
      return next
    })
    batch = []
  }
  for await (const entry of entries()) {
    signal.throwIfAborted()
    number += 1
    if (number <= at.done) continue
    if ('product' in entry) batch.push(entry.product)
    if (batch.length === BATCH) await storeBatch(number)
  }
  if (at.status === 'running') await storeBatch(number)
}

async function checkAll(
  entries: ReturnType<typeof readProducts>,
  row: repository.ImportRow,
  signal: AbortSignal,
): Promise<repository.ImportRow> {
  const errors: ImportError[] = []
  let [products, errorCount] = [0, 0]
  for await (const entry of entries) {
    signal.throwIfAborted()
    products += 1
    if ('product' in entry) continue
    errorCount += entry.errors.length
    errors.push(...entry.errors.slice(0, MOST_ERRORS - errors.length))
  }
  const status = errorCount > 0 && row.skipInvalid === 0 ? 'refused' : 'running'
  return { ...row, status, products, errorCount, errors: JSON.stringify(errors) }
}

/** @throws {Error} if another attempt is ahead */
function* store(
  row: repository.ImportRow,
  before: repository.ImportRow,
  now = currentTime(),
): Transaction<void> {
  if ((yield* repository.advance(row, before, now)) === 1) return
  throw new Error('another attempt at this import is ahead')
}

function toImport({
  createdAt,
  updatedAt,
  expiresAt,
  errors,
  skipInvalid,
  ...row
}: repository.ImportRow): Import {
  return {
    ...row,
    skipInvalid: skipInvalid === 1,
    errors: JSON.parse(errors),
    createdAt: timestamp(createdAt),
    updatedAt: timestamp(updatedAt),
    expiresAt: timestamp(expiresAt),
  }
}
