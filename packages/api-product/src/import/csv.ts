import type { Product } from '../schemas.ts'
import { parseJson, type Read } from './json-lines.ts'

/**
 * Products as lines of CSV (RFC 4180). A cell is empty for null, and for an empty list or object.
 * A library would be asked of a registry, which our modules do not need.
 */

interface Column {
  readonly of: (product: Product) => unknown
  /** What a cell says. One that is none of its column stays a text, which the schema refuses. */
  readonly read: (cell: string) => unknown
}

const text = (cell: string) => cell
const textOrNull = (cell: string) => (cell === '' ? null : cell)
const integer = (cell: string) => (/^\d{1,15}$/.test(cell) ? Number(cell) : cell)
const integerOrNull = (cell: string) => (cell === '' ? null : integer(cell))
const boolean = (cell: string) => cell === 'true' || (cell === 'false' ? false : cell)
const json = (empty: unknown) => (cell: string) => {
  if (cell === '') return empty
  try {
    return parseJson(cell)
  } catch {
    return cell
  }
}

/** In the order of the export. */
const columns: Readonly<Record<string, Column>> = {
  id: { of: ({ id }) => id, read: text },
  name: { of: ({ name }) => name, read: text },
  price: { of: ({ price }) => price.amount, read: integer },
  currency: { of: ({ price }) => price.currency, read: text },
  otherPrices: { of: ({ otherPrices }) => otherPrices, read: json([]) },
  stock: { of: ({ stock }) => stock, read: integerOrNull },
  active: { of: ({ active }) => active, read: boolean },
  group: { of: ({ group }) => group, read: textOrNull },
  description: { of: ({ description }) => description, read: textOrNull },
  images: { of: ({ images }) => images, read: json([]) },
  attributes: { of: ({ attributes }) => attributes, read: json({}) },
}
const names = Object.keys(columns)
const required = ['id', 'name', 'price', 'currency']

export const csvHeader = `${names.join(',')}\r\n`

export const toCsv = (product: Product) =>
  `${Object.values(columns)
    .map(({ of }) => quoted(toCell(of(product))))
    .join(',')}\r\n`

function toCell(value: unknown): string {
  if (value === null) return ''
  if (typeof value !== 'object') return String(value)
  return Object.keys(value).length === 0 ? '' : JSON.stringify(value)
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

export function* readCsv(text: string): Generator<Read> {
  const records = recordsOf(text)
  const first = records.next()
  if (first.done) return
  const { line, cells: header = [] } = first.value
  const detail = first.value.detail ?? wrongHeader(header)
  if (detail !== undefined) {
    yield { line, detail }
    return
  }
  for (const { line, cells = [], detail } of records) {
    if (detail !== undefined) yield { line, detail }
    else if (cells.length === header.length) yield { line, value: productOf(header, cells) }
    else {
      const detail = `must have ${header.length} cells, as the first line has, and not ${cells.length}`
      yield { line, detail }
    }
  }
}

function wrongHeader(header: readonly string[]): string | undefined {
  const isRight =
    required.every((name) => header.includes(name)) &&
    header.every((name, index) => Object.hasOwn(columns, name) && header.indexOf(name) === index)
  if (isRight) return undefined
  const others = names.filter((name) => !required.includes(name))
  return `must name the columns, each once: ${required.join(', ')}, and any of ${others.join(', ')}`
}

/** The product of a line, unchecked. */
function productOf(header: readonly string[], cells: readonly string[]): unknown {
  const fields = header.map((name, index) => [name, columns[name]?.read(cells[index] as string)])
  const { price, currency, ...rest } = Object.fromEntries(fields)
  return { ...rest, price: { amount: price, currency } }
}

interface CsvRecord {
  /** On which it begins. */
  readonly line: number
  readonly cells?: readonly string[]
  /** Why it has none. Nobody knows then where the next one begins, so it is the last. */
  readonly detail?: string
}

/** The records of a text, without empty lines. */
function* recordsOf(text: string): Generator<CsvRecord> {
  const next = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let [begin, line, at] = [1, 1, 0]
  let cells: string[] = []
  for (let isMore = text !== ''; isMore; ) {
    next.lastIndex = at
    const [whole, quoted, plain, end] = next.exec(text) ?? []
    if (whole === undefined) {
      yield { line, detail: 'must be CSV, and the rest was not read: a quote is missing, or is in the way' }
      return
    }
    cells.push(quoted?.replaceAll('""', '"') ?? (plain as string))
    at += whole.length
    line += whole.split('\n').length - 1
    isMore = end === ',' || at < text.length
    if (end === ',') continue
    if (cells.length > 1 || whole.trim() !== '') yield { line: begin, cells }
    begin = line
    cells = []
  }
}
