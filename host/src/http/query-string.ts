import type { InvalidPart } from '@mortise/module-sdk'

/** Where a parsed query keeps what is wrong with its text: the parser has nobody to throw to. */
export const invalidQuery = Symbol('invalid query')

export interface Query {
  [parameter: string]: unknown
  [invalidQuery]?: InvalidPart[]
}

/** Parses a query (`+` is a blank); repeated and undecodable parameters are noted under `invalidQuery`. */
export function parseQuery(text: string): Query {
  const query: Query = Object.create(null)
  if (text === '') return query
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const rawName = equals === -1 ? pair : pair.slice(0, equals)
    const name = decode(rawName)
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (name === undefined || value === undefined) {
      note(query, rawName, 'must be percent-encoded UTF-8 without NUL')
    } else if (name in query) {
      note(query, name, 'must be given once')
    } else {
      query[name] = value
    }
  }
  return query
}

function note(query: Query, parameter: string, detail: string): void {
  query[invalidQuery] ??= []
  query[invalidQuery].push({ parameter, detail })
}

function decode(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}
