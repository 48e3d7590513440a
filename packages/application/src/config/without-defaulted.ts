import type { TSchema } from '@sinclair/typebox'

/** The schema for an author of the object, who may omit properties with a default. */
export function withoutDefaulted(schema: TSchema): TSchema {
  const { required, properties } = schema
  if (!Array.isArray(required)) return schema
  return { ...schema, required: required.filter((name) => properties?.[name]?.default === undefined) }
}
