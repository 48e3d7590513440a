import type { Schema } from './setting.ts'

/** The possible meanings of a value, the likeliest first: as the schema says, JSON, text. */
export function parseValue(text: string, schema: Schema): readonly [unknown, ...unknown[]] {
  if (schema.type === 'string') return [text]
  try {
    const value: unknown = JSON.parse(text)
    return value === text ? [value] : [value, text]
  } catch {
    return [text]
  }
}
