import { type Content, type JsonSchema, type OpenapiDocument, operationsOf } from './openapi-document.ts'

// A schema whose title is a valid name becomes a component of that name, and a reference elsewhere,
// so that generated clients contain `CartItem` once. Only the document has references: validation
// and serialization keep the schemas as they are.

const isName = (title: unknown): title is string => typeof title === 'string' && /^[A-Za-z]\w*$/.test(title)

/** The values of these keywords are no schemas. */
const data = new Set(['const', 'default', 'enum', 'examples', 'required'])

/** Moves the named schemas to the components of `document`, in place. */
export function nameSchemas(document: OpenapiDocument): void {
  const { schemas } = document.components
  for (const [name, schema] of Object.entries(schemas)) schemas[name] = withReferences(schema, '', schemas)
  const events = Object.values(document.webhooks ?? {}).map(({ post }) => post)
  const operations = operationsOf(document).map(([, operation]) => operation)
  for (const { tags, requestBody, responses } of [...operations, ...events]) {
    const [module = ''] = tags
    if (requestBody) nameContent(requestBody.content, module, schemas)
    for (const { description, content = {} } of Object.values(responses))
      nameContent(content, module, schemas, description)
  }
}

type Schemas = OpenapiDocument['components']['schemas']

/** @param said the description of the response, which its schema need not repeat */
function nameContent(content: Content, module: string, schemas: Schemas, said?: string): void {
  for (const media of Object.values(content)) {
    if (!media.schema) continue
    const { description, ...schema } = media.schema
    const isSaid = isName(schema.title) && (said === undefined || said === description)
    media.schema = reference(isSaid ? schema : media.schema, module, schemas)
  }
}

function reference(schema: JsonSchema, module: string, schemas: Schemas): JsonSchema {
  const { title, type } = schema
  if (!isName(title)) return withReferences(schema, module, schemas)
  const others = Array.isArray(type) ? type.filter((name) => name !== 'null') : [type]
  if (others.length > 1) return withReferences(schema, module, schemas)
  const { description, ...named } = withReferences({ ...schema, type: others[0] }, module, schemas)
  const name = place(title, { ...named, ...(description !== undefined && { description }) }, module, schemas)
  if (name === undefined) return withReferences(schema, module, schemas)
  const own = schemas[name]?.description === description ? {} : { description }
  const $ref = `#/components/schemas/${name}`
  return Array.isArray(type) ? { ...own, anyOf: [{ $ref }, { type: 'null' }] } : { ...own, $ref }
}

/** A title that another module uses too gets the module as a prefix. */
function place(title: string, schema: JsonSchema, module: string, schemas: Schemas): string | undefined {
  for (const name of module ? [title, `${module}.${title}`] : [title]) {
    schemas[name] ??= schema
    if (isSame(schemas[name], schema)) return name
  }
  return undefined
}

const isSame = (one: JsonSchema, other: JsonSchema) => text(one) === text(other)
const text = ({ description, ...schema }: JsonSchema) => JSON.stringify(schema)

/** The same schema, with references to the named schemas inside it. */
function withReferences(schema: JsonSchema, module: string, schemas: Schemas): JsonSchema {
  const inside = (value: unknown, isSchema: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => inside(item, isSchema))
    if (typeof value !== 'object' || value === null) return value
    if (isSchema) return reference(value as JsonSchema, module, schemas)
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, inside(child, true)]))
  }
  const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      data.has(keyword) ? value : inside(value, !maps.has(keyword)),
    ]),
  )
}
