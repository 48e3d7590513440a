import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from '@mortise/host'
import {
  alternatives,
  inside,
  partChanges,
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
 * What `previous` accepts and `next` rejects, in words that follow `what`: `the body has to have
 * "text" now`. A difference that cannot be compared, such as two patterns, counts as narrower.
 */
export function narrowings(previous: SchemaView, next: SchemaView, what: string, depth = 0): string[] {
  // A schema may refer to itself.
  if (depth > 8) return []
  const [olds, news] = [alternatives(previous), alternatives(next)]
  const inner = (a: unknown, b: unknown, name: string) =>
    narrowings(inside(previous, a), inside(next, b), name, depth + 1)
  const compare = (old: JsonSchema, now: JsonSchema) => {
    const isRefused = (name: string) => now.additionalProperties === false && !propertiesOf(now)[name]
    const lossOf = (name: string) => (isRefused(name) ? `no longer accepts "${name}"` : undefined)
    const own = ofItself(old, now).map((change) => `${what} ${change}`)
    return [...own, ...partChanges([old, now], what, inner, lossOf)]
  }
  const [old, now] = [olds[0], news[0]]
  if (olds.length === 1 && news.length === 1 && old && now) return compare(old, now)
  const lost = olds.filter((one) => news.every((other) => compare(one, other).length > 0))
  return lost.map((one) => `${what} no longer accepts ${nameOf(one)}`)
}

function ofItself(old: JsonSchema, now: JsonSchema): string[] {
  const types = lostTypes(old, now)
  if (types.length > 0) return types
  return [...lostValues(old, now), ...lostRange(old, now), ...lostFreedom(old, now)]
}

function lostTypes(old: JsonSchema, now: JsonSchema): string[] {
  const [before, after] = [typesOf(old), typesOf(now)]
  if (after === undefined) return []
  if (before === undefined) return [`must be ${after.join(' or ')} now`]
  const takes = (type: string) => after.includes(type) || (type === 'integer' && after.includes('number'))
  return before.filter((type) => !takes(type)).map((type) => `can no longer be ${type}`)
}

function lostValues(old: JsonSchema, now: JsonSchema): string[] {
  const [before, after] = [valuesOf(old), valuesOf(now)]
  if (after === undefined) return []
  if (before === undefined) return [`must be one of ${after.map(json).join(', ')} now`]
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
  ].map((keyword) => `has ${keyword} ${now[keyword]} now (before: ${old[keyword] ?? 'none'})`)
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
    ...needed.map((name) => `requires "${name}" now`),
    ...(now.additionalProperties === false && old.additionalProperties !== false
      ? ['accepts no other fields now']
      : []),
    ...(now.uniqueItems === true && old.uniqueItems !== true ? ['requires unique items now'] : []),
    ...differing.map((keyword) => `has ${keyword} ${json(now[keyword])} now (before: ${json(old[keyword])})`),
  ]
}

const json = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value))

function nameOf(schema: JsonSchema): string {
  return (
    valuesOf(schema)?.map(json).join(', ') ??
    String(schema.title ?? typesOf(schema)?.join(' or ') ?? 'the rest')
  )
}
