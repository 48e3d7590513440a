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

export const requiredOf = ({ required = [] }: JsonSchema) => required as string[]

/** The allowed JSON types; undefined if all are allowed. */
export function typesOf(schema: JsonSchema): string[] | undefined {
  if (schema.type !== undefined) return [schema.type].flat() as string[]
  const values = 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined)
  return values?.map(typeOfValue)
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
