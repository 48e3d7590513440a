import { setImmediate } from 'node:timers/promises'
import type { ImportError, ImportFormat, NewProduct } from '../schemas.ts'
import { readCsv } from './csv.ts'
import { readJsonLines } from './json-lines.ts'

/** One product of a file, or what is wrong with it. */
export type Entry = { readonly product: NewProduct } | { readonly errors: readonly ImportError[] }

/** What is wrong with a value as a product. */
export type Check = (value: unknown) => readonly Omit<ImportError, 'line'>[]

/** Others run after this many entries. */
const AT_ONCE = 100

/** The products of a file in UTF-8, one after the other. The same bytes have the same entries each time. */
export async function* readProducts(
  bytes: Uint8Array,
  format: ImportFormat,
  check: Check,
): AsyncGenerator<Entry> {
  // It leaves out a byte order mark.
  const text = new TextDecoder().decode(bytes)
  const lines = new Map<string, number>()
  let entries = 0
  for (const { line, value, detail } of format === 'csv' ? readCsv(text) : readJsonLines(text)) {
    entries += 1
    if (entries % AT_ONCE === 0) await setImmediate()
    const found = detail === undefined ? check(value) : [{ pointer: '', detail }]
    const errors = found.length > 0 ? found : repeated(value as NewProduct, lines)
    if (errors.length > 0) {
      yield { errors: errors.map((error) => ({ line, ...error })) }
    } else {
      const product = value as NewProduct
      lines.set(product.id, line)
      yield { product }
    }
  }
}

function repeated({ id }: NewProduct, lines: ReadonlyMap<string, number>) {
  const line = lines.get(id)
  return line === undefined
    ? []
    : [{ pointer: '/id', detail: `must be another one: line ${line} has this id` }]
}
