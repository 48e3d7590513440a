import type { TSchema } from '@sinclair/typebox'
import { withoutDefaulted } from '../config/without-defaulted.ts'

/**
 * The schema of a body for the document: properties with a default are optional, and the default is
 * in the description. Client generators would take a field with the keyword `default` for a
 * required one.
 */
export function describeBody(schema: TSchema): TSchema {
  const { default: value, properties, items, ...rest } = withoutDefaulted(schema)
  const words = `${JSON.stringify(value)} by default`
  const inside = (children: Record<string, TSchema>) =>
    Object.fromEntries(Object.entries(children).map(([name, child]) => [name, describeBody(child)]))
  return {
    ...rest,
    ...(properties && { properties: inside(properties) }),
    ...(items && { items: describeBody(items) }),
    ...(value !== undefined && { description: rest.description ? `${rest.description}; ${words}` : words }),
  } as unknown as TSchema
}
