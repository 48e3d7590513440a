import type { ModulePackage } from '@mortise/host'

export type Schema = NonNullable<ModulePackage['settingsSchema']>

/** One setting that a schema declares. */
export interface Setting {
  /** As it is named on the command line: `note.keepFor`, `server.port`. */
  readonly key: string
  /** Where it stands in app.config.json: `modules`, `note`, `keepFor`. */
  readonly path: readonly string[]
  readonly schema: Schema
}

/** The settings of the host, or of one module. */
export interface SettingsOwner {
  /** Undefined for the host. */
  readonly module: string | undefined
  /** Where its settings stand in app.config.json. */
  readonly path: readonly string[]
  /** Undefined where it takes none. */
  readonly schema: Schema | undefined
}

/** The settings below `path` of an owner, groups opened; undefined where its schema has nothing there. */
export function settingsBelow(owner: SettingsOwner, path: readonly string[]): Setting[] | undefined {
  const { schema } = owner
  if (schema === undefined) return path.length === 0 ? [] : undefined
  const found = schemaAt(schema, path)
  return found && leaves(owner, schema, found, path)
}

/** Whether a setting is one of several that stand in an object of their own. */
const isGroup = (schema: Schema) => schema.properties !== undefined

/** The value as it may be shown: what the schema calls `writeOnly` is secret. */
export function shown(value: unknown, schema: Schema): unknown {
  if (value === undefined) return undefined
  if (schema.writeOnly === true) return '(set)'
  if (schema.format === 'database') return withoutPassword(String(value))
  if (Array.isArray(value)) return value.map((item) => (schema.items ? shown(item, schema.items) : item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const member = memberOf(schema, key)
      return [key, member ? shown(inner, member) : inner]
    }),
  )
}

/** Of a URL; a path is left as it is. */
const withoutPassword = (text: string) => text.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1:(set)@')

function leaves(owner: SettingsOwner, root: Schema, schema: Schema, path: readonly string[]): Setting[] {
  if (isGroup(schema)) {
    return Object.entries(schema.properties as Record<string, Schema>).flatMap(([name, property]) => {
      const inner = resolved(root, property)
      const secret = schema.writeOnly === true ? { ...inner, writeOnly: true } : inner
      return leaves(owner, root, secret, [...path, name])
    })
  }
  const key = [owner.module, ...path].filter((part) => part !== undefined).join('.')
  return [{ key, path: [...owner.path, ...path], schema }]
}

function schemaAt(root: Schema, path: readonly string[]): Schema | undefined {
  let schema: Schema | undefined = resolved(root, root)
  let secret = false
  for (const key of path) {
    secret ||= schema?.writeOnly === true
    const inner: Schema | undefined = schema && memberOf(schema, key)
    schema = inner && resolved(root, inner)
  }
  return secret && schema ? { ...schema, writeOnly: true } : schema
}

/** What a schema says of the member `key` of an object. */
function memberOf(schema: Schema, key: string): Schema | undefined {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema
  if (Object.hasOwn(properties, key)) return properties[key]
  const pattern = Object.keys(patternProperties).find((text) => new RegExp(text, 'u').test(key))
  if (pattern !== undefined) return patternProperties[pattern]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** Follows `#/…` within the document. */
function resolved(root: Schema, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema
  const { $ref, ...rest } = schema
  const target = $ref
    .slice(2)
    .split('/')
    .reduce((at: Schema | undefined, part: string) => at?.[decodeURIComponent(part)], root)
  return typeof target === 'object' ? { ...target, ...rest } : schema
}
