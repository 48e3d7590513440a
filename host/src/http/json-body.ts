import { isUtf8 } from 'node:buffer'
import type { Problem } from '@mortise/module-sdk'
import { buildJson } from './build-json.ts'
import { hostProblems } from './problems.ts'

/** Far above what a request means; code that walks a body by recursion is safe below it. */
const MAX_DEPTH = 100

/**
 * Parses a JSON body (RFC 8259) and refuses what JSON.parse mends silently: invalid UTF-8, duplicate keys,
 * `__proto__`, lone surrogates. And NUL, which PostgreSQL cannot store.
 *
 * @throws {Problem} `invalid-request`, pointing at the place
 */
export function parseJsonBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('', 'must be UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1]
    throw invalid('', position ? `must be JSON: it is not at position ${position}` : 'must be JSON')
  }
  return refuseAmbiguous(text).hasEscapedKey ? buildJson(text) : value
}

/** An object or array that the scan is in. */
interface Level {
  /** The keys so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  /** The key or index that the scan is at. */
  at: string | number
  expectsKey: boolean
}

/** `text` must be valid JSON. Iterative: its depth is the sender's choice. */
function refuseAmbiguous(text: string): { readonly hasEscapedKey: boolean } {
  const levels: Level[] = []
  let hasEscapedKey = false
  for (let index = 0; index < text.length; index++) {
    const level = levels.at(-1)
    switch (text[index]) {
      case '{':
      case '[': {
        if (levels.length === MAX_DEPTH) {
          throw invalid('', `must not be nested deeper than ${MAX_DEPTH} levels`)
        }
        const isObject = text[index] === '{'
        levels.push({ keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject })
        break
      }
      case '}':
      case ']':
        levels.pop()
        break
      case ',':
        if (level?.keys) level.expectsKey = true
        else if (level) (level.at as number)++
        break
      case '"': {
        const end = endOfString(text, index)
        const string = decodeString(text.slice(index, end))
        if (level?.keys && level.expectsKey) {
          readKey(string, level, level.keys, levels)
          hasEscapedKey ||= string.length !== end - index - 2
        } else refuseUnstorable(string, levels)
        index = end - 1
        break
      }
    }
  }
  return { hasEscapedKey }
}

/** Where the string literal that begins at `start` is over. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}

function decodeString(literal: string): string {
  return literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)
}

function refuseUnstorable(text: string, levels: readonly Level[]): void {
  if (!text.isWellFormed()) throw invalid(pointerOf(levels), 'must not contain lone surrogates')
  if (text.includes('\0')) throw invalid(pointerOf(levels), 'must not contain NUL')
}

function readKey(key: string, level: Level, keys: Set<string>, levels: readonly Level[]): void {
  level.at = key
  level.expectsKey = false
  refuseUnstorable(key, levels)
  if (key === '__proto__') throw invalid(pointerOf(levels), 'is no known field')
  if (keys.has(key)) throw invalid(pointerOf(levels), 'must be given once')
  keys.add(key)
}

function pointerOf(levels: readonly Level[]): string {
  return levels
    .map(({ at }) => `/${String(at).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
}

function invalid(pointer: string, detail: string): Problem {
  return hostProblems.create('invalid-request', 'The body cannot be read; see errors.', {
    members: { errors: [{ pointer, detail }] },
  })
}
