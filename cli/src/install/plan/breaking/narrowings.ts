import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from '@mortise/host'
import {
  alternatives,
  inside,
  propertiesOf,
  requiredOf,
  type SchemaView,
  typesOf,
  valuesOf,
} from './schema-view.ts'

const least = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const most = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
/** Keywords whose values cannot be compared. */
const opaque = ['pattern', 'format', 'multipleOf', 'patternProperties', 'not']

/**
 * What `former` accepts and `next` rejects, in words that follow `what`: `the body has to have
 * "text" now`. A difference that cannot be compared, such as two patterns, counts as narrower.
 */
export function narrowings(former: SchemaView, next: SchemaView, what: string, depth = 0): string[] {
  // A schema may refer to itself.
  if (depth > 8) return []
  const [olds, news] = [alternatives(former), alternatives(next)]
  const compare = (old: JsonSchema, now: JsonSchema) => compareOne(former, next, old, now, what, depth)
  const [old, now] = [olds[0], news[0]]
  if (olds.length === 1 && news.length === 1 && old && now) return compare(old, now)
  const lost = olds.filter((one) => news.every((other) => compare(one, other).length > 0))
  return lost.map((one) => `${what} no longer takes ${nameOf(one)}`)
}

function compareOne(
  former: SchemaView,
  next: SchemaView,
  old: JsonSchema,
  now: JsonSchema,
  what: string,
  depth: number,
): string[] {
  const inner = (a: unknown, b: unknown, name: string) =>
    narrowings(inside(former, a), inside(next, b), name, depth + 1)
  const fields = Object.keys(propertiesOf(old)).flatMap((name) => {
    const field = propertiesOf(now)[name]
    if (field !== undefined) return inner(propertiesOf(old)[name], field, `"${name}" of ${what}`)
    return now.additionalProperties === false ? [`${what} no longer takes "${name}"`] : []
  })
  const items = old.items && now.items ? inner(old.items, now.items, `each item of ${what}`) : []
  return [...ofItself(old, now).map((change) => `${what} ${change}`), ...fields, ...items]
}

function ofItself(old: JsonSchema, now: JsonSchema): string[] {
  const types = lostTypes(old, now)
  if (types.length > 0) return types
  return [...lostValues(old, now), ...lostRange(old, now), ...lostFreedom(old, now)]
}

function lostTypes(old: JsonSchema, now: JsonSchema): string[] {
  const [before, after] = [typesOf(old), typesOf(now)]
  if (after === undefined) return []
  if (before === undefined) return [`has to be ${after.join(' or ')} now`]
  const takes = (type: string) => after.includes(type) || (type === 'integer' && after.includes('number'))
  return before.filter((type) => !takes(type)).map((type) => `can no longer be ${type}`)
}

function lostValues(old: JsonSchema, now: JsonSchema): string[] {
  const [before, after] = [valuesOf(old), valuesOf(now)]
  if (after === undefined) return []
  if (before === undefined) return [`has to be one of ${after.map(json).join(', ')} now`]
  const lost = before.filter((value) => !after.some((other) => isDeepStrictEqual(value, other)))
  return lost.map((value) => `can no longer be ${json(value)}`)
}

function lostRange(old: JsonSchema, now: JsonSchema): string[] {
  const differs = (keyword: string, worse: (from: number, to: number) => boolean) => {
    const [from, to] = [old[keyword] as number | undefined, now[keyword] as number | undefined]
    return to !== undefined && (from === undefined || worse(from, to))
  }
  return [
    ...least.filter((keyword) => differs(keyword, (from, to) => to > from) && !isNoLimit(keyword, now)),
    ...most.filter((keyword) => differs(keyword, (from, to) => to < from)),
  ].map((keyword) => `has ${keyword} ${now[keyword]} now (${old[keyword] ?? 'none'} before)`)
}

/** A minimum length of 0 is no limit. */
const isNoLimit = (keyword: string, schema: JsonSchema) => keyword !== 'minimum' && schema[keyword] === 0

function lostFreedom(old: JsonSchema, now: JsonSchema): string[] {
  const needed = requiredOf(now).filter(
    (name) => !requiredOf(old).includes(name) && propertiesOf(now)[name]?.default === undefined,
  )
  const differing = opaque.filter(
    (keyword) => now[keyword] !== undefined && !isDeepStrictEqual(old[keyword], now[keyword]),
  )
  return [
    ...needed.map((name) => `has to have "${name}" now`),
    ...(now.additionalProperties === false && old.additionalProperties !== false
      ? ['takes no further fields now']
      : []),
    ...(now.uniqueItems === true && old.uniqueItems !== true ? ['takes no item twice now'] : []),
    ...differing.map((keyword) => `has ${keyword} ${json(now[keyword])} now (${json(old[keyword])} before)`),
  ]
}

const json = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value))

function nameOf(schema: JsonSchema): string {
  return (
    valuesOf(schema)?.map(json).join(', ') ??
    String(schema.title ?? typesOf(schema)?.join(' or ') ?? 'the rest')
  )
}
