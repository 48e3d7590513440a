import type { TSchema } from '@sinclair/typebox'

/** A schema for whoever writes the object: what has a default may be left out; only code that reads it finds it always there. */
export function withoutDefaulted(schema: TSchema): TSchema {
  const { required, properties } = schema
  if (!Array.isArray(required)) return schema
  return { ...schema, required: required.filter((name) => properties?.[name]?.default === undefined) }
}
