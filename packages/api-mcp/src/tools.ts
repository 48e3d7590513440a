import type { Tool } from '@modelcontextprotocol/server'
import type { Caller } from '@mortise/module-sdk'
import {
  type Content,
  type Document,
  type Operation,
  resolved,
  type Schema,
  selfContained,
} from './document.ts'
import type { Settings } from './module.ts'

/** A route as a tool. */
export interface RouteTool {
  readonly tool: Tool
  readonly method: string
  /** `/cart/item/{id}`, without the base path. */
  readonly path: string
  /** A caller needs all of these scopes. */
  readonly scopes: readonly string[]
  /** Whether a caller without credentials may call it with an effect. */
  readonly isPublic: boolean
  /** The names of its query parameters. */
  readonly query: readonly string[]
  /** Whether its response is one resource, which has an id. */
  readonly showsResource: boolean
}

const JSON_TYPE = 'application/json'

/**
 * The tools of the routes of a document: those that take and send JSON, and that the settings offer.
 * The host's own routes are no tools.
 */
export function toolsOf(document: Document, settings: Settings): readonly RouteTool[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const tool = toolOf(document, method.toUpperCase(), path, operation)
      return tool !== undefined && isOffered(tool, operation, settings) ? [tool] : []
    }),
  )
}

/** Whether the caller's token has what the route asks for. */
export const mayCall = ({ scopes }: RouteTool, caller: Caller): boolean =>
  scopes.every((scope) => caller.has(scope))

function isOffered({ method, path, scopes }: RouteTool, { tags = [] }: Operation, settings: Settings) {
  const [module] = tags
  if (module === 'application' || module === 'api-mcp') return false
  if (settings.readOnly && method !== 'GET') return false
  const isNamed = (names: readonly string[]) =>
    names.some((name) => name === module || name === `${method} ${path}`)
  if (isNamed(settings.exclude)) return false
  return isNamed(settings.include) || (settings.include.length === 0 && !scopes.includes('admin'))
}

function toolOf(document: Document, method: string, path: string, operation: Operation) {
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
      description:
        'a new UUID for each change that you intend; the same one again if you repeat a call whose result did not arrive: it then takes effect once',
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
      name: operationId.slice(0, 64),
      title: summary ?? `${method} ${path}`,
      description: [summary, description, `${method} ${path}`].filter(Boolean).join('. '),
      inputSchema: selfContained(inputSchema, document) as Tool['inputSchema'],
      ...(isObject && {
        outputSchema: selfContained({ ...result, type: 'object' }, document) as NonNullable<
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
    scopes: security.length === 1 ? (security[0]?.bearer ?? []) : [],
    isPublic: security.length === 0,
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
