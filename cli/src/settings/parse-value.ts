import type { Schema } from './setting.ts'

/**
 * What a value on the command line may mean, likeliest first: a string where the schema says so, else JSON, and
 * where that is not to be had the text itself.
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
