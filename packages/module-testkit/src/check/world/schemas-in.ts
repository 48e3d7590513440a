import type { TSchema } from '@sinclair/typebox'

/** Each schema inside, with its name. */
export function* schemasIn(schema: unknown, name = ''): Generator<[TSchema, string]> {
  if (typeof schema !== 'object' || schema === null) return
  yield [schema as TSchema, name]
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = schema as TSchema
  for (const [key, value] of Object.entries(properties)) yield* schemasIn(value, key)
  for (const inner of [items, ...anyOf, ...oneOf, ...allOf].flat()) yield* schemasIn(inner, name)
}
