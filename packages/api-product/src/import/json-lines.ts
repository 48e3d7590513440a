import type { Product } from '../schemas.ts'

/** Products as lines of JSON (https://jsonlines.org). */

/** What a file has, from this line on: a value, or why there is none. */
export interface Read {
  readonly line: number
  readonly value?: unknown
  readonly detail?: string
}

export const toJsonLine = ({ identity, version, createdAt, updatedAt, ...product }: Product) =>
  `${JSON.stringify(product)}\n`

export function* readJsonLines(text: string): Generator<Read> {
  for (const [index, line] of text.split('\n').entries())
    if (line.trim() !== '') yield { line: index + 1, ...valueOfLine(line) }
}

function valueOfLine(line: string): Pick<Read, 'value' | 'detail'> {
  try {
    return { value: parseJson(line) }
  } catch (error) {
    return { detail: `must be JSON: ${(error as Error).message}` }
  }
}

/**
 * The value of a JSON text.
 * @throws {SyntaxError} also for a lone surrogate, which no database stores
 */
export const parseJson = (text: string): unknown =>
  // Only an escape can be one.
  text.includes('\\u') ? JSON.parse(text, refuseSurrogates) : JSON.parse(text)

function refuseSurrogates(key: string, value: unknown): unknown {
  if (key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())) return value
  throw new SyntaxError('it has a lone surrogate')
}
