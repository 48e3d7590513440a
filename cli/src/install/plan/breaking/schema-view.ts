import type { JsonSchema, OpenapiDocument } from '@mortise/host'

/** A schema and the document that its references point into. */
export interface SchemaView {
  readonly schema: JsonSchema
  readonly document: OpenapiDocument
}

/** The alternative schemas of a value, with references followed and `allOf` merged. */
export function alternatives({ schema, document }: SchemaView): JsonSchema[] {
  const { anyOf, oneOf, ...rest } = merged(followed(schema, document), document)
  const choices = (anyOf ?? oneOf) as JsonSchema[] | undefined
  if (choices === undefined) return [rest]
  return choices.flatMap((choice) =>
    alternatives({ schema: choice, document }).map((one) => ({ ...rest, ...one })),
  )
}

/** An inner schema of the same document. */
export const inside = (view: SchemaView, schema: unknown): SchemaView => ({
  schema: (schema ?? {}) as JsonSchema,
  document: view.document,
})

export const propertiesOf = ({ properties = {} }: JsonSchema) => properties as Record<string, JsonSchema>

/**
 * The changes in the fields and items of an object or array.
 * @param inner compares two schemas of the same field or item
 * @param lossOf what is to be said of the field instead: `no longer has "text"`
 */
export function partChanges(
  [old, now]: readonly [JsonSchema, JsonSchema],
  what: string,
  inner: (old: unknown, now: unknown, what: string) => string[],
  lossOf: (name: string) => string | undefined,
): string[] {
  const [before, after] = [propertiesOf(old), propertiesOf(now)]
  const fields = Object.keys(before).flatMap((name) => {
    const loss = lossOf(name)
    if (loss !== undefined) return [`${what} ${loss}`]
    return after[name] ? inner(before[name], after[name], `"${name}" of ${what}`) : []
  })
  return [...fields, ...(old.items && now.items ? inner(old.items, now.items, `each item of ${what}`) : [])]
}

export const requiredOf = ({ required = [] }: JsonSchema) => required as string[]

/** The allowed values, if the schema lists them. */
export function valuesOf(schema: JsonSchema): unknown[] | undefined {
  return 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined)
}

/** The allowed JSON types; undefined if all are allowed. */
export function typesOf(schema: JsonSchema): string[] | undefined {
  if (schema.type !== undefined) return [schema.type].flat() as string[]
  return valuesOf(schema)?.map(typeOfValue)
}

function typeOfValue(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function followed(schema: JsonSchema, { components }: OpenapiDocument): JsonSchema {
  const { $ref, ...own } = schema
  if (typeof $ref !== 'string') return schema
  const target = components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]
  return { ...(target && followed(target, { components } as OpenapiDocument)), ...own }
}

function merged(schema: JsonSchema, document: OpenapiDocument): JsonSchema {
  const { allOf, ...own } = schema
  if (!Array.isArray(allOf)) return schema
  const parts = [...allOf.map((part) => merged(followed(part, document), document)), own]
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map(propertiesOf)),
    required: parts.flatMap(requiredOf),
  }
}
