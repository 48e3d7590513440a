import { JsonError, readJson } from '@mortise/module-sdk'
import type { ImportError, Product } from '../schemas.ts'
import { MOST_CHARACTERS } from './csv-records.ts'

/** Products as lines of JSON (https://jsonlines.org). */

/** What a file has on this line: a value, what is wrong, or neither, as on an empty line. */
export interface Read {
  readonly line: number
  readonly value?: unknown
  readonly errors?: readonly Omit<ImportError, 'line'>[]
}

export const toJsonLine = ({ identity, createdAt, updatedAt, ...product }: Product) =>
  `${JSON.stringify(product)}\n`

export function* readJsonLines(text: string): Generator<Read> {
  let line = 0
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf('\n', at)
    const end = found === -1 ? text.length : found
    line += 1
    yield { line, ...valueOfLine(text, at, end) }
    at = end + 1
  }
}

function valueOfLine(text: string, from: number, to: number): Omit<Read, 'line'> {
  if (to - from > MOST_CHARACTERS)
    return { errors: [{ pointer: '', detail: `must have at most ${MOST_CHARACTERS} characters` }] }
  const line = text.slice(from, to)
  if (line.trim() === '') return {}
  try {
    return { value: readJson(line) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { errors: [{ pointer: error.pointer, detail: error.reason }] }
  }
}
