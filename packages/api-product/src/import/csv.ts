import type { Product } from '../schemas.ts'
import {
  CellError,
  readAmount,
  readBoolean,
  readCode,
  readInteger,
  readJsonCell,
  readText,
  writeText,
} from './csv-cells.ts'
import { readRecords, type SeparatorName, separators } from './csv-records.ts'
import type { Read } from './json-lines.ts'

/**
 * Products as lines of CSV. A cell is empty for null, and for an empty list or object. A library would
 * be asked of a registry, which our modules do not need; and the ones there are guess, where an import
 * that changes prices refuses.
 */

interface Column {
  readonly of: (product: Product) => unknown
  /** What a cell says; undefined if it says nothing. @throws {CellError} */
  readonly read: (cell: string, currency: string) => unknown
  /** The place of the value in the product, unless it is the name of the column. */
  readonly pointer?: string
}

const textOrNull = (read: (cell: string) => string) => (cell: string) => (cell === '' ? null : read(cell))
const json = (empty: unknown) => (cell: string) => (cell === '' ? empty : readJsonCell(cell))

/** In the order of the export. */
const columns: Readonly<Record<string, Column>> = {
  id: { of: ({ id }) => writeText(id), read: readCode },
  name: { of: ({ name }) => writeText(name), read: readText },
  price: { of: ({ price }) => price.amount, read: readAmount, pointer: '/price/amount' },
  currency: { of: ({ price }) => price.currency, read: (cell) => cell.trim(), pointer: '/price/currency' },
  otherPrices: { of: ({ otherPrices }) => otherPrices, read: json([]) },
  stock: { of: ({ stock }) => stock, read: (cell) => readInteger(cell) ?? null },
  active: { of: ({ active }) => active, read: readBoolean },
  group: { of: ({ group }) => group && writeText(group), read: textOrNull(readCode) },
  description: { of: ({ description }) => description && writeText(description), read: textOrNull(readText) },
  images: { of: ({ images }) => images, read: json([]) },
  attributes: { of: ({ attributes }) => attributes, read: json({}) },
  version: { of: ({ version }) => version, read: readInteger },
}
const names = Object.keys(columns)
const required = ['id', 'name', 'price', 'currency']

/** A spreadsheet takes the file for UTF-8 because of the byte order mark. */
export const csvHeader = `\ufeff${names.join(',')}\r\n`

export const toCsv = (product: Product) =>
  `${Object.values(columns)
    .map(({ of }) => quoted(toCell(of(product))))
    .join(',')}\r\n`

function toCell(value: unknown): string {
  if (value === null) return ''
  if (typeof value !== 'object') return String(value)
  return Object.keys(value).length === 0 ? '' : JSON.stringify(value)
}

const quoted = (cell: string) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Excel's own way to name the separator. */
const declared = /^sep=([,;\t])(?:\r\n?|\n)/i

/** The one with which the first line names the most columns, or else has the most. */
export function separatorOf(text: string): SeparatorName {
  const sign = declared.exec(text)?.[1]
  const all = Object.entries(separators) as [SeparatorName, string][]
  const ranked = all.map(([name, separator]) => {
    const header = sign === undefined ? headerOf(text, separator) : []
    return { name, rank: separator === sign ? 1 : header.filter(isColumn).length + header.length / 1000 }
  })
  return ranked.reduce((most, one) => (one.rank > most.rank ? one : most)).name
}

const headerOf = (text: string, separator: string): readonly string[] => {
  const [first] = readRecords(text, separator)
  return (first?.cells ?? []).map(nameOf)
}

const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]))
const nameOf = (cell: string) => byLowerCase.get(cell.trim().toLowerCase()) ?? cell.trim()
const isColumn = (name: string) => Object.hasOwn(columns, name)

/** What a text without a byte order mark has. */
export function* readCsv(text: string): Generator<Read> {
  const separator = separatorOf(text)
  const skipped = declared.exec(text)?.[0] ?? ''
  const firstLine = skipped === '' ? 0 : 1
  let header: readonly string[] | undefined
  for (const { cells, detail, ...record } of readRecords(text.slice(skipped.length), separators[separator])) {
    const line = record.line + firstLine
    if (detail !== undefined) yield { line, errors: [{ pointer: '', detail }] }
    else if (cells.every((cell) => cell.trim() === '')) yield { line }
    else if (header === undefined) {
      header = withoutEmptyEnd(cells.map(nameOf))
      const fault = wrongHeader(header, separator)
      if (fault === undefined) continue
      yield { line, errors: [{ pointer: '', detail: fault }] }
      return
    } else yield { line, ...productOf(header, cells) }
  }
}

const withoutEmptyEnd = (cells: readonly string[]) =>
  cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1)

function wrongHeader(header: readonly string[], separator: SeparatorName): string | undefined {
  const wrong = header.find((name, index) => !isColumn(name) || header.indexOf(name) !== index)
  const missing = required.find((name) => !header.includes(name))
  if (wrong === undefined && missing === undefined) return undefined
  const others = names.filter((name) => !required.includes(name))
  const rule = `must name the columns, each once: ${required.join(', ')}, and any of ${others.join(', ')}`
  const found = wrong === undefined ? `"${missing}" is missing` : `it has "${wrong.slice(0, 40)}"`
  return `${rule}; ${found}, with a ${separator} between the columns`
}

/** The product of a line, unchecked. */
function productOf(header: readonly string[], cells: readonly string[]): Omit<Read, 'line'> {
  const isLonger = cells.slice(header.length).some((cell) => cell.trim() !== '')
  if (cells.length < header.length || isLonger) {
    const detail = `must have ${header.length} cells, as the first line has, and not ${cells.length}`
    return { errors: [{ pointer: '', detail }] }
  }
  const currency = cells[header.indexOf('currency')]?.trim() ?? ''
  const fields: [string, unknown][] = []
  const errors: { pointer: string; detail: string }[] = []
  for (const [index, name] of header.entries()) {
    const { read, pointer = `/${name}` } = columns[name] as Column
    try {
      const value = read(cells[index] as string, currency)
      if (value !== undefined) fields.push([name, value])
    } catch (error) {
      if (!(error instanceof CellError)) throw error
      errors.push({ pointer: pointer + error.pointer, detail: error.message })
    }
  }
  if (errors.length > 0) return { errors }
  const { price: amount, currency: code, ...rest } = Object.fromEntries(fields)
  return { value: { ...rest, price: { amount, currency: code } } }
}
