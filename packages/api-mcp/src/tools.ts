import { createHash } from 'node:crypto'
import type { Tool } from '@modelcontextprotocol/server'
import type { Caller } from '@mortise/module-sdk'
import { type Content, type Document, inlined, type Operation, resolved, type Schema } from './document.ts'
import type { Settings } from './module.ts'

/** A route as a tool. */
export interface RouteTool {
  readonly tool: Tool
  readonly method: string
  /** `/cart/item/{id}`, without the base path. */
  readonly path: string
  /** A caller needs one of these; everybody may call it if there are none. */
  readonly security: NonNullable<Operation['security']>
  /** The names of its query parameters. */
  readonly query: readonly string[]
  /** Whether its response is one resource, which has an id. */
  readonly showsResource: boolean
}

const JSON_TYPE = 'application/json'

/** What an agent does not need to fill in arguments: the host checks them. */
const REPEATED = new Set(['examples', 'title', 'pattern'])
/** What an agent does not need to read a result, beside its shape. */
const BESIDE_SHAPE = new Set([
  ...REPEATED,
  ...[
    'description',
    'format',
    'maxLength',
    'minLength',
    'minimum',
    'maximum',
    'required',
    'additionalProperties',
  ],
])

/**
 * The tools of the routes of a document: those that take and send JSON, and that their modules and the
 * settings offer. The host's own routes are no tools.
 */
export function toolsOf(document: Document, settings: Settings): readonly RouteTool[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const uses = Map.groupBy(operations, ({ operation }) => operation.operationId)
  return operations.flatMap(({ method, path, operation }) => {
    const isUnique = uses.get(operation.operationId)?.length === 1
    const tool = toolOf(document, method, path, operation, isUnique)
    return tool !== undefined && isOffered(tool, operation, settings) ? [tool] : []
  })
}

/** Names that every client takes. */
const NAME = /^[\w-]{1,64}$/

/** The operationId, or as much of it as fits, with a hash that makes it unique. */
function nameOf(operationId: string, route: string, isUnique: boolean): string {
  if (isUnique && NAME.test(operationId)) return operationId
  const hash = createHash('sha256').update(route).digest('hex').slice(0, 10)
  return `${operationId.replace(/[^\w-]+/g, '_').slice(0, 53)}_${hash}`
}

/** Whether a caller has what the route accepts. Guests have no scopes. */
export const mayCall = ({ security }: RouteTool, caller: Caller): boolean =>
  security.length === 0 ||
  security.some(({ bearer }) =>
    bearer === undefined ? true : caller.kind === 'user' && bearer.every((scope) => caller.has(scope)),
  )

/** Every scope that a tool may need. */
export const scopesOf = (tools: readonly RouteTool[]): string[] =>
  [...new Set(tools.flatMap(({ security }) => security.flatMap(({ bearer = [] }) => bearer)))].sort()

/** Whether a caller without credentials may call it with an effect. */
export const isPublic = ({ security }: RouteTool): boolean => security.length === 0

function isOffered(
  { method, path, security }: RouteTool,
  { tags = [], 'x-tool': offers }: Operation,
  settings: Settings,
) {
  const [module] = tags
  if (offers === false) return false
  if (module === 'application' || module === 'api-mcp') return false
  if (settings.readOnly && method !== 'GET') return false
  const needsAdmin = security.length > 0 && security.every(({ bearer }) => bearer?.includes('admin'))
  const isNamed = (names: readonly string[]) =>
    names.some((name) => name === module || name === `${method} ${path}`)
  if (isNamed(settings.exclude)) return false
  return isNamed(settings.include) || (settings.include.length === 0 && !needsAdmin)
}

function toolOf(document: Document, method: string, path: string, operation: Operation, isUnique: boolean) {
  const { operationId, summary, description, parameters = [], requestBody, security = [] } = operation
  const success = successOf(operation)
  const body = requestBody?.content[JSON_TYPE]?.schema
  if (success === undefined || (requestBody !== undefined && body === undefined)) return undefined
  const result = resolved(success, document)
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const inHeader = (name: string) => named('header').find((parameter) => parameter.name === name)
  const key = inHeader('Idempotency-Key')
  const ifMatch = inHeader('If-Match')
  const sent = [...named('path'), ...named('query')]
  const properties: Record<string, Schema> = Object.fromEntries(
    sent.map(({ name, schema, description: what }) => [
      name,
      what ? { description: what, ...schema } : schema,
    ]),
  )
  if (body !== undefined) properties.body = body
  if (ifMatch !== undefined)
    properties.ifMatch = { type: 'string', description: `the ETag: ${ifMatch.description}` }
  if (key !== undefined)
    properties.idempotencyKey = {
      ...key.schema,
      description: 'a new UUID for each intended change',
    }
  const required = [
    ...sent.filter((parameter) => parameter.required).map(({ name }) => name),
    ...(requestBody?.required ? ['body'] : []),
  ]
  const inputSchema = { type: 'object', properties, required, additionalProperties: false }
  const forms = (result.anyOf as readonly Schema[] | undefined) ?? [result]
  const isObject = forms.every((form) => resolved(form, document).type === 'object')
  return {
    tool: {
      name: nameOf(operationId, `${method} ${path}`, isUnique),
      title: summary ?? `${method} ${path}`,
      description: [summary, description, `${method} ${path}`].filter(Boolean).join('. '),
      inputSchema: inlined(inputSchema, document, REPEATED) as Tool['inputSchema'],
      ...(isObject && {
        outputSchema: inlined({ ...result, type: 'object' }, document, BESIDE_SHAPE) as NonNullable<
          Tool['outputSchema']
        >,
      }),
      annotations: {
        readOnlyHint: method === 'GET',
        destructiveHint: method !== 'GET' && method !== 'POST',
        idempotentHint: method !== 'POST' && method !== 'PATCH',
        openWorldHint: false,
      },
    },
    method,
    path,
    security,
    query: named('query').map(({ name }) => name),
    showsResource:
      method === 'GET' && (result.properties as Record<string, unknown> | undefined)?.id !== undefined,
  }
}

/** The JSON schema of the first success; undefined if the route sends something else. */
function successOf({ responses }: Operation): Schema | undefined {
  const status = Object.keys(responses).find((code) => /^2\d\d$/.test(code))
  const content: Content | undefined = status === undefined ? undefined : responses[status]?.content
  return content?.[JSON_TYPE]?.schema
}
