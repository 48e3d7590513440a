/** What tools are made of: a part of an OpenAPI 3.1 document. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  /** The id of the module. */
  readonly tags?: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header' | 'cookie'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

export type Content = Readonly<Record<string, { readonly schema: Schema }>>
export type Schema = Readonly<Record<string, unknown>>

const COMPONENT = '#/components/schemas/'

/** The schema with everything that it refers to, below `$defs`. */
export function selfContained(schema: Schema, document: Document): Schema {
  const defs: Record<string, unknown> = {}
  const copy = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(copy)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        if (key !== '$ref' || typeof inner !== 'string' || !inner.startsWith(COMPONENT))
          return [key, copy(inner)]
        const name = inner.slice(COMPONENT.length)
        if (!(name in defs)) {
          defs[name] = true // a schema may refer to itself
          defs[name] = copy(document.components?.schemas?.[name] ?? {})
        }
        return [key, `#/$defs/${name}`]
      }),
    )
  }
  const whole = copy(schema) as Schema
  return Object.keys(defs).length === 0 ? whole : { ...whole, $defs: defs }
}

/** Follows a reference to a component. */
export function resolved(schema: Schema, document: Document): Schema {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith(COMPONENT)) return schema
  return document.components?.schemas?.[$ref.slice(COMPONENT.length)] ?? {}
}
