import { currentTime, DAY, type Database, newId, type Transaction, timestamp } from '@mortise/module-sdk'
import { problem } from '../module.ts'
import type { Import, ImportError, NewImport } from '../schemas.ts'
import { type ImportedLine, importProducts, staleLines } from '../service.ts'
import { separatorOf } from './csv.ts'
import * as repository from './import-repository.ts'
import { type Check, readProducts, textOf } from './read-products.ts'

/**
 * An import is checked as a whole first, and then stored in short transactions, each with the position
 * that it has reached. Another attempt begins at that position, so each product is stored once.
 */

/** `proof` is what verified the token of the manager. */
export interface ImportJob {
  readonly id: string
  readonly proof: string | undefined
}

/** An import is shown for this long, in milliseconds. */
const LIFETIME = 30 * DAY
/** The products of a file that one transaction stores. */
const BATCH = 50
const UNTRUSTED =
  'The host does not trust the token any more with which the import began: its secret was replaced, or its issuer removed. Products that are stored stay. Send the file again with another token'
/** The errors that an import shows. */
const MOST_ERRORS = 100

export function* startImport(
  { file, format, skipInvalid = false, stock = 'leave' }: NewImport,
  now = currentTime(),
): Transaction<Import> {
  const row: repository.ImportRow = {
    id: newId('import'),
    format,
    skipInvalid: skipInvalid ? 1 : 0,
    stock,
    separator: null,
    status: 'waiting',
    products: null,
    done: 0,
    created: 0,
    changed: 0,
    skipped: 0,
    errorCount: 0,
    errors: '[]',
    failure: null,
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

/** Its job has failed for the last time. */
export const failImport = (id: string, error: string, now = currentTime()) =>
  repository.fail(id, `The last attempt failed: ${error}. An operator can continue it: app work replay`, now)

/**
 * Continues an import until it has ended. Another attempt may do the same.
 * @param isTrusted whether the host still trusts the manager's token, apart from its times
 */
export async function runImport(
  database: Database,
  id: string,
  check: Check,
  signal: AbortSignal,
  isTrusted: () => Promise<boolean>,
): Promise<void> {
  const found = await database.snapshot(() => repository.findFile(id))
  if (!found) return
  const { bytes, ...row } = found
  const text = textOf(bytes)
  const setsStock = row.stock === 'set'
  const batches = () => inBatches(readProducts(text, row.format, check), signal)

  const stop = () => database.transaction(() => repository.stop(id, UNTRUSTED, currentTime()))
  let at = row.products === null ? await checkAll() : row
  if (at.status === 'refused') return
  let number = 0
  for await (const batch of batches()) {
    number += batch.entries
    if (number <= at.done) continue
    if (!(await isTrusted())) return void (await stop())
    at = await database.transaction(() => storeBatch(at, batch, number))
  }
  await database.transaction(() => store({ ...at, status: 'completed', failure: null }, at))

  async function checkAll(): Promise<repository.ImportRow> {
    let [found, products] = [row as Errors, 0]
    for await (const { entries, lines, errors: invalid } of batches()) {
      products += entries
      found = withErrors(found, invalid)
      if (lines.some(({ product }) => product.version !== undefined))
        found = withErrors(found, await database.snapshot(() => staleLines(lines, setsStock)))
    }
    const separator = row.format === 'csv' && text !== '' ? separatorOf(text) : null
    const checked = { ...row, separator, products, failure: null }
    const isRefused = found.errorCount > 0 && row.skipInvalid === 0
    // Each batch finds its own again.
    const next: repository.ImportRow = isRefused
      ? { ...checked, errors: found.errors, errorCount: found.errorCount, status: 'refused' }
      : { ...checked, status: 'running' }
    await database.transaction(() => store(next, row))
    return next
  }

  function* storeBatch(
    before: repository.ImportRow,
    batch: Batch,
    done: number,
  ): Transaction<repository.ImportRow> {
    const { created, changed, stale } = yield* importProducts(batch.lines, setsStock)
    const next: repository.ImportRow = {
      ...before,
      ...withErrors(before, [...batch.errors, ...stale]),
      status: 'running',
      failure: null,
      done,
      created: before.created + created,
      changed: before.changed + changed,
      skipped: before.skipped + batch.entries - batch.lines.length + stale.length,
    }
    yield* store(next, before)
    return next
  }
}

/** Some entries of a file, in their order. */
interface Batch {
  entries: number
  readonly lines: ImportedLine[]
  readonly errors: ImportError[]
}

/** The same ones in each attempt, so that `done` is the end of one. */
async function* inBatches(
  entries: ReturnType<typeof readProducts>,
  signal: AbortSignal,
): AsyncGenerator<Batch> {
  const empty = (): Batch => ({ entries: 0, lines: [], errors: [] })
  let batch = empty()
  for await (const entry of entries) {
    signal.throwIfAborted()
    batch.entries += 1
    if ('product' in entry) batch.lines.push(entry)
    else batch.errors.push(...entry.errors)
    if (batch.entries < BATCH) continue
    yield batch
    batch = empty()
  }
  if (batch.entries > 0) yield batch
}

type Errors = Pick<repository.ImportRow, 'errorCount' | 'errors'>

function withErrors({ errorCount, errors }: Errors, more: readonly ImportError[]): Errors {
  const shown: ImportError[] = JSON.parse(errors)
  const all = [...shown, ...more.slice(0, MOST_ERRORS - shown.length)]
  return { errorCount: errorCount + more.length, errors: JSON.stringify(all) }
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
