import type { Schema } from './setting.ts'

/**
 * The possible meanings of a value on the command line, the likeliest first: a string if the schema
 * says so, otherwise JSON, and text if it is not valid JSON.
 */
export function parseValue(text: string, schema: Schema): readonly [unknown, ...unknown[]] {
  if (schema.type === 'string') return [text]
  try {
    const value: unknown = JSON.parse(text)
    return value === text ? [value] : [value, text]
  } catch {
    return [text]
  }
}
