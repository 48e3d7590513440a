import { isUtf8 } from 'node:buffer'
import { pointerTo } from './pointer-to.ts'

export { keepsValue, pointerTo }

/** Why a text is no JSON that the product takes. */
export class JsonError extends SyntaxError {
  override readonly name = 'JsonError'
  /** A JSON Pointer (RFC 6901) to the place; '' for the whole. */
  readonly pointer: string
  /** What the place must be: `must be given once`. */
  readonly reason: string

  constructor(pointer: string, reason: string) {
    super(pointer === '' ? `it ${reason}` : `${pointer} ${reason}`)
    this.pointer = pointer
    this.reason = reason
  }
}

/** Far deeper than any valid document; recursive code is safe below it. */
const MAX_DEPTH = 100

/**
 * Reads JSON (RFC 8259) that comes from others: bodies, files, responses of other systems. Refuses what
 * JSON.parse repairs silently: invalid UTF-8, duplicate keys, `__proto__`, lone surrogates, numbers
 * that it rounds to an integer. Also refuses NUL, which PostgreSQL cannot store, and more than 100
 * levels.
 *
 * @throws {JsonError} with a pointer to the place
 */
export function readJson(source: string | Uint8Array): unknown {
  if (typeof source !== 'string' && !isUtf8(source)) throw new JsonError('', 'must be UTF-8')
  if (typeof source === 'string' && !source.isWellFormed())
    throw new JsonError('', 'must not contain lone surrogates')
  const text =
    typeof source === 'string'
      ? source
      : Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const position = /at position (\d+)/.exec((error as Error).message)?.[1]
    throw new JsonError('', position ? `must be JSON: it is not at position ${position}` : 'must be JSON')
  }
  return refuseAmbiguous(text).hasEscapedKey ? buildJson(text) : value
}

const [QUOTE, COMMA, OBJECT, OBJECT_END, ARRAY, ARRAY_END] = Buffer.from('",{}[]')
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const endOfNumber = /[^-+.\deE]|$/g

/** An open object or array of the scan. */
interface Level {
  /** The keys so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  /** The current key or index. */
  at: string | number
  expectsKey: boolean
}

/** `text` must be valid JSON. Iterative, because the client chooses the depth. */
function refuseAmbiguous(text: string): { readonly hasEscapedKey: boolean } {
  const levels: Level[] = []
  // Of UTF-8 only an escape can be a lone surrogate or NUL.
  const hasEscapes = text.includes('\\')
  let hasEscapedKey = false
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index)
    if (character === QUOTE) {
      const end = hasEscapes ? endOfString(text, index) : text.indexOf('"', index + 1) + 1
      const level = levels.at(-1)
      if (level?.keys && level.expectsKey) {
        const key = decodeString(text.slice(index, end))
        readKey(key, level, level.keys, levels)
        hasEscapedKey ||= key.length !== end - index - 2
      } else if (hasEscapes) refuseUnstorable(decodeString(text.slice(index, end)), levels)
      index = end - 1
    } else if (character === COMMA) {
      const level = levels.at(-1)
      if (level?.keys) level.expectsKey = true
      else if (level) (level.at as number)++
    } else if (character === OBJECT || character === ARRAY) {
      if (levels.length === MAX_DEPTH) {
        throw new JsonError('', `must not be nested deeper than ${MAX_DEPTH} levels`)
      }
      const isObject = character === OBJECT
      levels.push({ keys: isObject ? new Set() : undefined, at: 0, expectsKey: isObject })
    } else if (character === OBJECT_END || character === ARRAY_END) levels.pop()
    else if (character === MINUS || (character >= ZERO && character <= NINE)) {
      endOfNumber.lastIndex = index
      const end = (endOfNumber.exec(text) as RegExpExecArray).index
      const literal = text.slice(index, end)
      if (!keepsValue(literal)) {
        throw new JsonError(
          pointerOf(levels),
          `must be a number that a double can hold: ${literal.slice(0, 40)} is not`,
        )
      }
      index = end - 1
    }
  }
  return { hasEscapedKey }
}

/** The end of the string literal that begins at `start`. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}

const decodeString = (literal: string): string =>
  literal.includes('\\') ? JSON.parse(literal) : literal.slice(1, -1)

function refuseUnstorable(text: string, levels: readonly Level[]): void {
  if (!text.isWellFormed()) throw new JsonError(pointerOf(levels), 'must not contain lone surrogates')
  if (text.includes('\0')) throw new JsonError(pointerOf(levels), 'must not contain NUL')
}

function readKey(key: string, level: Level, keys: Set<string>, levels: readonly Level[]): void {
  level.at = key
  level.expectsKey = false
  refuseUnstorable(key, levels)
  if (key === '__proto__') throw new JsonError(pointerOf(levels), 'is not a known field')
  if (keys.has(key)) throw new JsonError(pointerOf(levels), 'must be given once')
  keys.add(key)
}

const pointerOf = (levels: readonly Level[]) => pointerTo(levels.map(({ at }) => String(at)))

const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/g

/**
 * Builds the value of `text`, valid JSON without duplicate keys, without JSON.parse for keys: V8
 * can confuse a key that ends in an escape with one that ends in a backslash (nodejs/node#63785).
 * Slower.
 */
export function buildJson(text: string): unknown {
  const root: unknown[] = []
  const levels: (unknown[] | Record<string, unknown>)[] = [root]
  let key: string | undefined
  for (const [token] of text.matchAll(tokens)) {
    const level = levels.at(-1)
    if (token === '}' || token === ']') levels.pop()
    else if (!Array.isArray(level) && key === undefined) key = JSON.parse(token)
    else {
      const value = token === '{' ? {} : token === '[' ? [] : JSON.parse(token)
      if (Array.isArray(level)) level.push(value)
      else if (level && key !== undefined) level[key] = value
      key = undefined
      if (token === '{' || token === '[') levels.push(value)
    }
  }
  return root[0]
}

/** A literal this short, without an exponent, has at most 15 digits: a double keeps those. */
const SAFE_LENGTH = 15

/**
 * Whether JSON.parse keeps the value of a number in JSON (RFC 8259) rather than rounding it to an
 * integer, to zero or to Infinity: 9007199254740993 becomes 9007199254740992. An integer must be
 * exact. With a fraction or an exponent the shortest notation of a double counts as exact too,
 * because that is how clients write a double: 1.7976931348623157e308.
 */
function keepsValue(literal: string): boolean {
  if (literal.length <= SAFE_LENGTH && !/e/i.test(literal)) return true
  const value = Number(literal)
  if (!Number.isFinite(value)) return false
  if (!Number.isInteger(value)) return true
  const written = normal(literal)
  return (
    written === normal(String(BigInt(value))) ||
    (!/^-?\d+$/.test(literal) && written === normal(String(value)))
  )
}

/** Significant digits and exponent, which are the same for each notation of a value. */
function normal(literal: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e(.+))?$/i.exec(literal) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}
