import type { TSchema } from '@sinclair/typebox'
import { isValid, validValues } from './generate.ts'

/** The path of a property inside a value. */
type Path = readonly string[]

/** The properties of an object, and of the objects inside, that take a text of the caller's choice. */
export function textFields(schema: TSchema | undefined, at: Path = []): Path[] {
  if (schema === undefined) return []
  const { type, const: only, enum: values, properties = {}, items } = schema
  if (type === 'string') return only === undefined && values === undefined ? [at] : []
  if (type === 'array' && items && !Array.isArray(items)) return textFields(items, [...at, '0'])
  return Object.entries<TSchema>(properties).flatMap(([name, inner]) => textFields(inner, [...at, name]))
}

/** A valid value with `text` in this place; undefined if the schema refuses it. */
export function withText(schema: TSchema, path: Path, value: unknown): unknown {
  const samples = validValues(schema, 6, 17)
  for (const sample of samples) {
    const one = put(structuredClone(sample), path, value)
    if (isValid(schema, one)) return one
  }
  return undefined
}

function put(target: unknown, [first, ...rest]: Path, value: unknown): unknown {
  if (first === undefined) return value
  const inside = (target ?? (first === '0' ? [] : {})) as Record<string, unknown>
  inside[first] = put(inside[first], rest, value)
  return inside
}
