import type { JsonSchema } from '@mortise/host'
import {
  alternatives,
  inside,
  partChanges,
  propertiesOf,
  requiredOf,
  type SchemaView,
  typesOf,
} from './schema-view.ts'

/**
 * What callers find in a response by `previous`, and may miss by `next`: removed or optional fields,
 * and values of another type. A new enum value is no loss, because callers expect new values.
 */
export function responseLosses(previous: SchemaView, next: SchemaView, what: string, depth = 0): string[] {
  // A schema may refer to itself.
  if (depth > 8) return []
  const [olds, news] = [alternatives(previous), alternatives(next)]
  const types = newTypes(olds, news)
  if (types.length > 0) return [`${what} may be ${types.join(' or ')} now`]
  const [old, now] = [soleObject(olds), soleObject(news)]
  if (!old || !now) return []
  const inner = (a: unknown, b: unknown, name: string) =>
    responseLosses(inside(previous, a), inside(next, b), name, depth + 1)
  return partChanges([old, now], what, inner, (name) => {
    if (!propertiesOf(now)[name]) return `no longer has "${name}"`
    const isOptional = requiredOf(old).includes(name) && !requiredOf(now).includes(name)
    return isOptional ? `may lack "${name}" now` : undefined
  })
}

function newTypes(olds: readonly JsonSchema[], news: readonly JsonSchema[]): string[] {
  const before = olds.map(typesOf)
  const after = news.map(typesOf)
  if (before.includes(undefined)) return []
  if (after.includes(undefined)) return ['anything']
  const known = before.flat()
  const isKnown = (type: string | undefined) =>
    known.includes(type) || (type === 'integer' && known.includes('number'))
  return [...new Set(after.flat())].filter((type) => !isKnown(type)) as string[]
}

/** The only alternative with fields or items, if there is one. */
function soleObject(schemas: readonly JsonSchema[]): JsonSchema | undefined {
  const deep = schemas.filter(({ properties, items }) => properties !== undefined || items !== undefined)
  return deep.length === 1 ? deep[0] : undefined
}
