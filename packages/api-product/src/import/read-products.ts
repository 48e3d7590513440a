import { setImmediate } from 'node:timers/promises'
import type { ImportError, ImportedProduct, ImportFormat } from '../schemas.ts'
import { readCsv } from './csv.ts'
import { readJsonLines } from './json-lines.ts'

/** One product of a file, or what is wrong with it. */
export type Entry =
  | { readonly line: number; readonly product: ImportedProduct }
  | { readonly errors: readonly ImportError[] }

/** What is wrong with a value as a product. */
export type Check = (value: unknown) => readonly Omit<ImportError, 'line'>[]

/** Others run after so many milliseconds. */
const HOLDS = 5
/** The most lines with something on them. */
export const MOST_PRODUCTS = 100_000

/**
 * The text of a file in UTF-8, or in UTF-16 with a byte order mark, as Excel writes "Unicode text".
 * @throws {TypeError} for other bytes
 */
export function textOf(bytes: Uint8Array): string {
  const mark = `${bytes[0]} ${bytes[1]}`
  const encoding = mark === '255 254' ? 'utf-16le' : mark === '254 255' ? 'utf-16be' : 'utf-8'
  return new TextDecoder(encoding, { fatal: true }).decode(bytes)
}

/** The products of a text, one after the other. The same text has the same entries each time. */
export async function* readProducts(text: string, format: ImportFormat, check: Check): AsyncGenerator<Entry> {
  const lines = new Map<string, number>()
  let [entries, since] = [0, performance.now()]
  for (const { line, value, errors: unread } of format === 'csv' ? readCsv(text) : readJsonLines(text)) {
    if (performance.now() - since > HOLDS) {
      await setImmediate()
      since = performance.now()
    }
    if (value === undefined && unread === undefined) continue
    entries += 1
    if (entries > MOST_PRODUCTS) {
      const detail = `must have at most ${MOST_PRODUCTS} products, and the rest was not read: send several files`
      yield { errors: [{ line, pointer: '', detail }] }
      return
    }
    const found = unread ?? check(value)
    const errors = found.length > 0 ? found : repeated(value as ImportedProduct, lines)
    if (errors.length > 0) {
      yield { errors: errors.map((error) => ({ line, ...error })) }
    } else {
      const product = value as ImportedProduct
      lines.set(product.id, line)
      yield { line, product }
    }
  }
}

function repeated({ id }: ImportedProduct, lines: ReadonlyMap<string, number>) {
  const line = lines.get(id)
  return line === undefined
    ? []
    : [{ pointer: '/id', detail: `must be another one: line ${line} has this id` }]
}
