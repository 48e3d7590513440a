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
const REFERENCE = /"#\/components\/schemas\/([^"\\]+)"/g

/** The schema with everything that it refers to, below `$defs`. */
export function selfContained(schema: Schema, document: Document): Schema {
  const component = (name: string) => document.components?.schemas?.[name] ?? {}
  const names = new Set(namesIn(schema))
  // The loop sees what it adds.
  for (const name of names) for (const inner of namesIn(component(name))) names.add(inner)
  const $defs = Object.fromEntries([...names].map((name) => [name, component(name)]))
  const whole = JSON.stringify(names.size === 0 ? schema : { ...schema, $defs })
  return JSON.parse(whole.replace(REFERENCE, '"#/$defs/$1"'))
}

const namesIn = (schema: Schema) =>
  [...JSON.stringify(schema).matchAll(REFERENCE)].map(([, name]) => name as string)

/** Follows a reference to a component. */
export function resolved(schema: Schema, document: Document): Schema {
  const { $ref } = schema
  if (typeof $ref !== 'string' || !$ref.startsWith(COMPONENT)) return schema
  return document.components?.schemas?.[$ref.slice(COMPONENT.length)] ?? {}
}
