/** What tools are made of: a part of an OpenAPI 3.1 document. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  /** The id of the module. */
  readonly tags?: readonly string[]
  /** False if the module keeps it from assistants: `config.tool`. */
  readonly 'x-tool'?: boolean
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
/** References that a schema follows at most. */
const MOST_REFERENCES = 200
/** The values of these keywords are schemas by name. */
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas'])
/** The values of these keywords are no schemas. */
const DATA = new Set(['const', 'default', 'enum', 'examples', 'required'])

/**
 * The schema with the components that it refers to in their places: many clients drop `$defs`. A
 * component inside of itself may be anything there.
 * @param without keywords to leave out
 */
export function inlined(schema: Schema, document: Document, without: ReadonlySet<string>): Schema {
  let references = 0
  const within = (value: unknown, open: readonly string[], isSchema: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => within(item, open, isSchema))
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...own } = value as Schema
    if (isSchema && typeof $ref === 'string') {
      references += 1
      const isOpen = open.includes($ref) || references > MOST_REFERENCES
      return within({ ...(isOpen ? {} : resolved({ $ref }, document)), ...own }, [...open, $ref], true)
    }
    const kept = Object.entries(value).filter(([keyword]) => !isSchema || !without.has(keyword))
    return Object.fromEntries(
      kept.map(([keyword, inner]) => [
        keyword,
        isSchema && DATA.has(keyword) ? inner : within(inner, open, !isSchema || !MAPS.has(keyword)),
      ]),
    )
  }
  return within(schema, [], true) as Schema
}

/** Follows a reference to a component. */
export function resolved(schema: Schema, document: Document): Schema {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith(COMPONENT)) return schema
  return document.components?.schemas?.[$ref.slice(COMPONENT.length)] ?? {}
}
