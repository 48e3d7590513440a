import { setImmediate } from 'node:timers/promises'
import { CsvError, parse } from 'csv-parse'
import type { ImportError, ImportFormat, NewProduct } from '../schemas.ts'
import { fromCsv, wrongHeader } from './csv.ts'
import { parseJson } from './json.ts'

/** One product of a file, or what is wrong with it. */
export type Entry = { readonly product: NewProduct } | { readonly errors: readonly ImportError[] }

/** A value of a file, and the line on which it begins. */
interface Read {
  readonly line: number
  readonly value?: unknown
  /** Why there is no value. */
  readonly detail?: string
}

/** What is wrong with a value as a product. */
export type Check = (value: unknown) => readonly Omit<ImportError, 'line'>[]

/**
 * The products of a file in UTF-8, one after the other, so that others run meanwhile. The same bytes
 * have the same entries each time.
 */
export async function* readProducts(
  bytes: Uint8Array,
  format: ImportFormat,
  check: Check,
): AsyncGenerator<Entry> {
  const lines = new Map<unknown, number>()
  for await (const { line, value, detail } of format === 'csv' ? readCsv(bytes) : readJsonLines(bytes)) {
    const found = detail === undefined ? check(value) : [{ pointer: '', detail }]
    if (found.length > 0) {
      yield { errors: found.map((error) => ({ line, ...error })) }
      continue
    }
    const product = value as NewProduct
    const before = lines.get(product.id)
    if (before === undefined) {
      lines.set(product.id, line)
      yield { product }
    } else {
      yield { errors: [{ line, pointer: '/id', detail: `must be another one: line ${before} has this id` }] }
    }
  }
}

const SLICE = 64 * 1024
const decoder = new TextDecoder()

async function* slicesOf(bytes: Uint8Array) {
  for (let from = 0; from < bytes.length; from += SLICE) {
    yield bytes.subarray(from, from + SLICE)
    await setImmediate()
  }
}

/** After an error of the syntax nobody knows where a line begins, so the rest is not read. */
async function* readCsv(bytes: Uint8Array): AsyncGenerator<Read> {
  const found: { cells: string[]; line: number }[] = []
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
    // Not from the stream: it drops what it has read when it fails.
    on_record(cells: string[], { lines }) {
      found.push({ cells, line: lines - (cells.join('').match(/\n/g)?.length ?? 0) })
    },
  })
  parser.on('error', () => {}).resume()
  let header: readonly string[] | undefined
  const slices = slicesOf(bytes)
  for (let isRead = false; !isRead; ) {
    const { done, value: slice } = await slices.next()
    isRead = done === true
    const error = await new Promise<unknown>((resolve) =>
      isRead ? parser.end(resolve) : parser.write(slice, resolve),
    )
    for (const { cells, line } of found.splice(0)) {
      const detail = header === undefined ? wrongHeader(cells) : wrongLength(cells, header)
      if (detail !== undefined) yield { line, detail }
      if (detail !== undefined && header === undefined) return
      if (detail === undefined && header !== undefined) yield { line, value: fromCsv(header, cells) }
      header ??= cells
    }
    if (error instanceof CsvError) {
      yield { line: Number(error.lines), detail: `must be CSV, and the rest was not read: ${error.message}` }
      return
    }
    if (error) throw error
  }
}

function wrongLength(cells: readonly string[], header: readonly string[]): string | undefined {
  if (cells.length === header.length) return undefined
  return `must have ${header.length} cells, as the first line has, and not ${cells.length}`
}

async function* readJsonLines(bytes: Uint8Array): AsyncGenerator<Read> {
  let line = 0
  let rest = SLICE
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(0x0a, from)
    const to = end === -1 ? bytes.length : end
    // It leaves out a byte order mark.
    const text = decoder.decode(bytes.subarray(from, to))
    line += 1
    rest -= to - from
    from = to + 1
    if (rest < 0) {
      rest = SLICE
      await setImmediate()
    }
    if (text.trim() !== '') yield { line, ...jsonOf(text) }
  }
}

function jsonOf(text: string): Pick<Read, 'value' | 'detail'> {
  try {
    return { value: parseJson(text) }
  } catch (error) {
    return { detail: `must be JSON: ${(error as Error).message}` }
  }
}
