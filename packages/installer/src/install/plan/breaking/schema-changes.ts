import type { JsonSchema } from '@mortise/host'
import { alternatives, inside, propertiesOf, requiredOf, type SchemaView, typesOf } from './schema-view.ts'

/** Whether callers send or get what a schema describes. */
export type Use = 'sent' | 'received'

/**
 * What breaks callers between two schemas of the same value, in words that follow `what`: `the body
 * requires "text" now`. It compares fields and types, and neither limits, values nor patterns.
 */
export function schemaChanges(
  previous: SchemaView,
  next: SchemaView,
  what: string,
  use: Use,
  depth = 0,
): string[] {
  // A schema may refer to itself.
  if (depth > 8) return []
  const [olds, news] = [alternatives(previous), alternatives(next)]
  const types = use === 'sent' ? lostTypes(olds, news) : newTypes(olds, news)
  if (types.length > 0) return types.map((change) => `${what} ${change}`)
  const [old, now] = [soleObject(olds), soleObject(news)]
  if (!old || !now) return []
  const inner = (one: unknown, other: unknown, name: string) =>
    schemaChanges(inside(previous, one), inside(next, other), name, use, depth + 1)
  const [before, after] = [propertiesOf(old), propertiesOf(now)]
  const kept = Object.keys(before).filter((name) => Object.hasOwn(after, name))
  return [
    ...fieldChanges(old, now, use).map((change) => `${what} ${change}`),
    ...kept.flatMap((name) => inner(before[name], after[name], `"${name}" of ${what}`)),
    ...(old.items && now.items ? inner(old.items, now.items, `each item of ${what}`) : []),
  ]
}

function fieldChanges(old: JsonSchema, now: JsonSchema, use: Use): string[] {
  const after = propertiesOf(now)
  const gone = Object.keys(propertiesOf(old)).filter((name) => !Object.hasOwn(after, name))
  if (use === 'received') return gone.map((name) => `no longer has "${name}"`)
  const needed = requiredOf(now).filter(
    (name) =>
      !requiredOf(old).includes(name) && !(Object.hasOwn(after, name) && after[name]?.default !== undefined),
  )
  const refused = now.additionalProperties === false ? gone : []
  return [
    ...refused.map((name) => `no longer accepts "${name}"`),
    ...needed.map((name) => `requires "${name}" now`),
  ]
}

function lostTypes(olds: readonly JsonSchema[], news: readonly JsonSchema[]): string[] {
  const [before, after] = [typesOfAll(olds), typesOfAll(news)]
  if (after === undefined) return []
  if (before === undefined) return [`must be ${after.join(' or ')} now`]
  return without(before, after).map((type) => `can no longer be ${type}`)
}

function newTypes(olds: readonly JsonSchema[], news: readonly JsonSchema[]): string[] {
  const [before, after] = [typesOfAll(olds), typesOfAll(news)]
  if (before === undefined) return []
  return (after === undefined ? ['anything'] : without(after, before)).map((type) => `may be ${type} now`)
}

/** Undefined if any type is allowed. */
function typesOfAll(schemas: readonly JsonSchema[]): string[] | undefined {
  const types = schemas.map(typesOf)
  return types.includes(undefined) ? undefined : [...new Set(types.flat() as string[])]
}

const without = (types: readonly string[], others: readonly string[]) =>
  types.filter((type) => !others.includes(type) && !(type === 'integer' && others.includes('number')))

/** The only alternative with fields or items, if there is one. */
function soleObject(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  const deep = schemas.filter(
    ({ properties, items, required }) =>
      properties !== undefined || items !== undefined || required !== undefined,
  )
  return deep.length === 1 ? deep[0] : undefined
}
