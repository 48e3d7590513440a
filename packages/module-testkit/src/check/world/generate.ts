import { firstError } from '@mortise/application'
import type { TSchema } from '@sinclair/typebox'
import fc, { type Arbitrary } from 'fast-check'

// Values from JSON Schemas. Seeds are fixed: a check finds the same each time.

const SEED = 1729

/** `count` valid values, as long as the schema can be understood. */
export function validValues(schema: TSchema, count: number, seed = SEED): unknown[] {
  const samples = fc.sample(arbitraryOf(schema), { numRuns: count * 2, seed })
  return samples.filter((value) => isValid(schema, value)).slice(0, count)
}

/** Whether it is; true for a schema that refers to others. */
export function isValid(schema: TSchema, value: unknown): boolean {
  try {
    return firstError(schema, value) === undefined
  } catch {
    return true
  }
}

/** Values that a careless handler stumbles over; the schema refuses most of them. */
export function hostileValues(schema: TSchema): unknown[] {
  const [valid = {}] = validValues(schema, 1)
  const properties = Object.entries<TSchema>(schema.properties ?? {})
  const replaced = properties.flatMap(([name, property]) =>
    hostileFor(property).map((value) => ({ ...(valid as object), [name]: value })),
  )
  return [null, [], 'text', { ...(valid as object), __proto__x: 1, constructor: 1 }, ...replaced]
}

const texts = [
  '',
  ' ',
  "'; DROP TABLE x; --",
  '%',
  '__proto__',
  '\u0000',
  '\ud800',
  '𝕏'.repeat(300),
  '0',
  '-1',
  '1e400',
]
const numbers = [0, -1, 0.1, 5.1, 2 ** 31, 2 ** 53, -(2 ** 53), 1e308]

function hostileFor(schema: TSchema): unknown[] {
  const types = [schema.type].flat()
  if (types.includes('string')) return texts
  if (types.includes('integer') || types.includes('number')) return numbers
  if (types.includes('array')) return [[], [null]]
  return [null, {}, '']
}

/** For a place in a path or a query, where all values are texts. */
export const hostileTexts = texts.filter((text) => text !== '' && text !== '\ud800').concat('x'.repeat(500))

function arbitraryOf(schema: TSchema): Arbitrary<unknown> {
  const { const: only, enum: values, anyOf, oneOf, allOf, type } = schema
  if (only !== undefined) return fc.constant(only)
  if (Array.isArray(values)) return fc.constantFrom(...values)
  const branches: TSchema[] | undefined = anyOf ?? oneOf
  if (branches?.length) return fc.oneof(...branches.map(arbitraryOf))
  if (allOf) return fc.tuple(...allOf.map(arbitraryOf)).map((parts) => Object.assign({}, ...parts))
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => arbitraryOf({ ...schema, type: one })))
  const make = byType[type as string]
  return make ? make(schema) : fc.constantFrom('x', 1, true, null, {})
}

const byType: Readonly<Record<string, (schema: TSchema) => Arbitrary<unknown>>> = {
  string: textOf,
  integer: ({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }) =>
    fc.integer({
      min: Math.max(-(2 ** 31), minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1)),
      max: Math.min(2 ** 31 - 1, maximum ?? (exclusiveMaximum === undefined ? 1000 : exclusiveMaximum - 1)),
    }),
  number: ({ minimum = 0, maximum = 1000 }) =>
    fc.oneof(
      fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }),
      fc.integer({ min: Math.ceil(minimum) * 10, max: Math.floor(maximum) * 10 }).map((n) => n / 10),
    ),
  boolean: () => fc.boolean(),
  null: () => fc.constant(null),
  array: ({ items, minItems = 0, maxItems = 3 }) =>
    fc.array(items ? arbitraryOf(items) : fc.constant('x'), {
      minLength: minItems,
      maxLength: Math.max(minItems, Math.min(maxItems, minItems + 3)),
    }),
  object({ properties = {}, required = [], patternProperties, additionalProperties }) {
    const known = Object.fromEntries(
      Object.entries<TSchema>(properties).map(([name, property]) => [name, arbitraryOf(property)]),
    )
    const record = fc.record(known, { requiredKeys: required })
    const [values = typeof additionalProperties === 'object' ? additionalProperties : undefined] =
      Object.values<TSchema>(patternProperties ?? {})
    if (!values) return record
    return fc
      .tuple(record, fc.array(arbitraryOf(values), { maxLength: 2 }))
      .map(([own, more]) => ({ ...own, ...Object.fromEntries(more.map((value, i) => [`key${i}`, value])) }))
  },
}

function textOf(schema: TSchema): Arbitrary<string> {
  const { minLength = 0, maxLength = 40, pattern, format, examples } = schema
  if (format === 'date-time')
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })
      .map((date) => date.toISOString())
  if (format === 'uri') return fc.nat(1e6).map((n) => `https://example.com/${n}`)
  if (format === 'email') return fc.nat(1e6).map((n) => `person${n}@example.com`)
  if (format === 'uuid') return fc.uuid()
  const examplesOf: Arbitrary<string>[] =
    Array.isArray(examples) && examples.length > 0 ? [fc.constantFrom(...examples)] : []
  const plain = fc.string({
    minLength,
    maxLength:
      Math.min(Math.max(minLength, 1), maxLength) + Math.min(20, Math.max(0, maxLength - minLength - 1)),
    unit: 'grapheme-ascii',
  })
  if (pattern === undefined) return examplesOf.length > 0 ? fc.oneof(...examplesOf, plain) : plain
  try {
    return fc.oneof(...examplesOf, fc.stringMatching(new RegExp(pattern)), plain)
  } catch {
    return fc.oneof(...examplesOf, plain)
  }
}

/**
 * The value with `mark` in its free texts, so that it is known again elsewhere; as it was if the
 * schema takes none.
 */
export function marked(schema: TSchema, value: unknown, mark: string): unknown {
  for (const free of [true, false]) {
    const one = markIn(schema, value, mark, free)
    if (isValid(schema, one)) return one
  }
  return value
}

function markIn(schema: TSchema, value: unknown, mark: string, patterns: boolean): unknown {
  const { type, format, enum: values, const: only, maxLength = 40, pattern } = schema
  const isFree = (format === undefined || format === 'binary') && values === undefined && only === undefined
  if (type === 'string' && isFree && maxLength >= mark.length && (patterns || pattern === undefined))
    return mark
  if (Array.isArray(value) && schema.items) {
    return value.map((item, index) => markIn(schema.items, item, `${mark}${index || ''}`, patterns))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const property: TSchema | undefined = schema.properties?.[name]
      return [name, property ? markIn(property, one, mark, patterns) : one]
    }),
  )
}
