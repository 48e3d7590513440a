import type { ModulePackage } from '@mortise/application'

export type Schema = NonNullable<ModulePackage['settingsSchema']>

export interface Setting {
  /** The name on the command line: `note.keepFor`, `server.port`. */
  readonly key: string
  /** The path in app.config.json: `modules`, `note`, `keepFor`. */
  readonly path: readonly string[]
  readonly schema: Schema
}

export interface SettingsOwner {
  /** Undefined for the host. */
  readonly module: string | undefined
  /** The path of its settings in app.config.json. */
  readonly path: readonly string[]
  /** Undefined if the module has no settings. */
  readonly schema: Schema | undefined
}

/** The settings below `path`, including groups. Undefined if the schema has nothing there. */
export function settingsBelow(owner: SettingsOwner, path: readonly string[]): Setting[] | undefined {
  const { schema } = owner
  if (schema === undefined) return path.length === 0 ? [] : undefined
  const found = schemaAt(schema, path)
  return found && leaves(owner, schema, found, path, { left: MOST })
}

/** What `path` names, which may be a group. Undefined if the schema has nothing there. */
export function settingAt(owner: SettingsOwner, path: readonly string[]): Setting | undefined {
  const schema = owner.schema && schemaAt(owner.schema, path)
  const key = [owner.module, ...path].filter((part) => part !== undefined).join('.')
  return schema && { key, path: [...owner.path, ...path], schema }
}

/** So many groups and settings of an owner are listed: references can make a few lines into millions. */
const MOST = 2000
/** A group that lies deeper is one setting. */
const DEEPEST = 8

/** Whether the schema is a group: an object with several settings. */
const isGroup = (schema: Schema) => schema.properties !== undefined

/** The value for display. A value with `writeOnly` in its schema is secret. */
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

/** Whether a value has a part that is secret by its schema. */
export function hasSecret(value: unknown, schema: Schema): boolean {
  if (value === undefined) return false
  if (schema.writeOnly === true) return true
  if (Array.isArray(value))
    return schema.items !== undefined && value.some((one) => hasSecret(one, schema.items))
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, inner]) => {
    const member = memberOf(schema, key)
    return member !== undefined && hasSecret(inner, member)
  })
}

/** Removes the password of a URL; a path stays as it is. */
const withoutPassword = (text: string) => text.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1:(set)@')

function leaves(
  owner: SettingsOwner,
  root: Schema,
  schema: Schema,
  path: readonly string[],
  listed: { left: number },
): Setting[] {
  listed.left -= 1
  if (listed.left < 0) return []
  if (isGroup(schema) && path.length < DEEPEST) {
    return Object.entries(schema.properties as Record<string, Schema>).flatMap(([name, property]) => {
      const inner = resolved(root, property)
      const secret = schema.writeOnly === true ? { ...inner, writeOnly: true } : inner
      return leaves(owner, root, secret, [...path, name], listed)
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

/**
 * The schema of the member `key` of an object. No pattern of a stranger is tried here: the only one is
 * taken to match, and of several none, but a secret stays one.
 */
function memberOf(schema: Schema, key: string): Schema | undefined {
  const { properties = {}, patternProperties = {}, additionalProperties } = schema
  if (Object.hasOwn(properties, key)) return properties[key]
  const others: Schema[] = [...Object.values(patternProperties as object), additionalProperties].filter(
    (other) => typeof other === 'object' && other !== null,
  )
  if (others.length <= 1) return others[0]
  return { ...(others.some(({ writeOnly }) => writeOnly === true) && { writeOnly: true }) } as Schema
}

function memberAt(at: Schema | undefined, part: string): Schema | undefined {
  const name = part.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? at[name] : undefined
}

/** Follows references (`#/…`) within the document. */
function resolved(root: Schema, schema: Schema): Schema {
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema
  const { $ref, ...rest } = schema
  const target = $ref
    .slice(2)
    .split('/')
    .reduce((at: Schema | undefined, part: string) => memberAt(at, part), root)
  return typeof target === 'object' && target !== null ? { ...target, ...rest } : schema
}
