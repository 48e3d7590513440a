import { JsonError, readJson, toDecimal } from '@mortise/module-sdk'

/** What a cell of a spreadsheet says, or why that cannot be known. */

export class CellError extends Error {
  /** The place in the value of the cell; '' for all of it. */
  readonly pointer: string

  constructor(detail: string, pointer = '') {
    super(detail)
    this.pointer = pointer
  }
}

/** A spreadsheet would run a cell that begins with one of these (OWASP, CSV injection). */
const formula = '[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]'
const failure = '#(?:NAME\\?|REF!|VALUE!|DIV/0!|NUM!|NULL!|N/A|SPILL!|CALC!|ERROR!)$'
const damaged = new RegExp(`^${failure}`)
/** A number that a spreadsheet has shortened. */
const short = '\\s*\\d([.,]\\d+)?[Ee]\\+\\d+\\s*$'
const shortCode = new RegExp(`^${short}`)
/** What an import would refuse or change, with any apostrophes before it. */
const misread = `(?:${formula}|${failure}|${short})`
const unsafe = new RegExp(`^'*${misread}`)
const guarded = new RegExp(`^''*${misread}`)

/** With an apostrophe where a spreadsheet would run it, or an import not believe it. `readText` takes it away. */
export const writeText = (text: string) => (unsafe.test(text) ? `'${text}` : text)

export function readText(cell: string): string {
  if (damaged.test(cell))
    throw new CellError(`must be text, and not the error ${cell} of a spreadsheet: what was there is lost`)
  return guarded.test(cell) ? cell.slice(1) : cell
}

/** Text that is often made of digits, which a spreadsheet takes for a number. */
export function readCode(cell: string): string {
  if (shortCode.test(cell))
    throw new CellError(
      `must be written out: a spreadsheet has shortened it to ${cell.trim()}, and the other digits are lost; format the column as text`,
    )
  return readText(cell)
}

/** An integer in digits. Undefined for an empty cell. */
export function readInteger(cell: string): number | undefined {
  const text = cell.trim()
  if (text === '') return undefined
  // 12.0 is what programs write that keep all numbers as fractions.
  const [, digits] = /^(\d{1,15})(?:[.,]0)?$/.exec(text) ?? []
  if (digits !== undefined) return Number(digits)
  throw new CellError(
    shortened(text) ?? grouped(text) ?? `must be a whole number in digits only, and not ${clip(text)}`,
  )
}

/** An amount in minor units. Undefined for an empty cell. */
export function readAmount(cell: string, currency: string): number | undefined {
  const text = cell.trim()
  if (text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const example = toDecimal({ amount: 1999, currency })
  const rule = `must be an integer of minor units in digits only: 1999 stands for ${example} ${currency}`
  throw new CellError(shortened(text) ?? grouped(text) ?? `${rule}; ${clip(text)} is none`)
}

const shortened = (text: string) =>
  /^[-+]?\d+([.,]\d+)?E[-+]?\d+$/i.test(text)
    ? `must be written out: a spreadsheet has shortened it to ${clip(text)}, and the other digits may be lost; format the column as a number without decimals`
    : undefined

const grouped = (text: string) =>
  /^\d{1,3}(?:[.,'’\s]\d{3})+$/.test(text)
    ? `must be in digits only: ${clip(text)} is ambiguous, since it may be ${clip(text.replaceAll(/\D/g, ''))} or a fraction`
    : undefined

const clip = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text)

/** As spreadsheets write them in the languages of their users. */
const booleans = new Map(
  [
    'true false',
    'wahr falsch',
    'vrai faux',
    'verdadero falso',
    'verdadeiro falso',
    'vero falso',
    'waar onwaar',
    'prawda fałsz',
    'pravda nepravda',
    'sant falskt',
    'sand falsk',
    'sann usann',
    'tosi epätosi',
    'igaz hamis',
    'doğru yanliş',
    'истина ложь',
  ].flatMap((pair) => pair.split(' ').map((word, index) => [word, index === 0] as const)),
)

/** Undefined for an empty cell. */
export function readBoolean(cell: string): boolean | undefined {
  const text = cell.trim()
  if (text === '') return undefined
  const found = booleans.get(text.toLowerCase())
  if (found !== undefined) return found
  throw new CellError(`must be true or false, and not ${clip(text)}`)
}

export function readJsonCell(cell: string): unknown {
  try {
    return readJson(cell)
  } catch (error) {
    if (error instanceof JsonError) throw new CellError(error.reason, error.pointer)
    throw error
  }
}
