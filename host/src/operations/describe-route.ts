import { STATUS_CODES } from 'node:http'
import type { Access } from '@mortise/module-sdk'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema, RouteOptions } from 'fastify'
import { hostProblems } from '../http/problems.ts'

type Responses = Readonly<Record<string, TSchema>>
type Code = Parameters<typeof hostProblems.responses>[number]

/** The tag of routes that no module has. */
export const hostTag = 'application'

/** The schema of a route as the document shows it: with tag, operationId, who may use it, and every problem. */
export function describeRoute(
  schema: FastifySchema | undefined,
  route: RouteOptions,
  prefix: string,
): FastifySchema {
  const access = route.config?.access as Access
  return {
    tags: [route.config?.module ?? hostTag],
    operationId: operationId(String(route.method), route.url.slice(prefix.length)),
    security: securityOf(access),
    ...schema,
    ...(schema?.querystring ? { querystring: withoutDefaulted(schema.querystring as TSchema) } : {}),
    ...(schema?.body ? { body: withoutDefaulted(schema.body as TSchema) } : {}),
    response: withDescriptions({
      ...(schema?.response as Responses | undefined),
      ...merged(route.config?.problems ?? {}, hostProblems.responses(...commonCodes(access, schema))),
    }),
  }
}

/** `GET /cart/item/:id` is `getCartItemById`. */
function operationId(method: string, path: string): string {
  const segments = path.replace(/:(\w+)/g, 'by/$1').split('/')
  const words = segments.map((segment) => segment.replace(/\W+/g, '_'))
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return `${method.toLowerCase()}${name || 'Overview'}`
}

/** What has a default need not be sent; only code that reads it finds it always there. */
function withoutDefaulted(schema: TSchema): TSchema {
  const { required, properties } = schema
  if (!Array.isArray(required)) return schema
  return { ...schema, required: required.filter((name) => properties?.[name]?.default === undefined) }
}

function securityOf(access: Access) {
  if (access === 'public') return []
  if (access === 'caller') return [{ bearer: [] }, { guestToken: [] }, { guestCookie: [] }, {}]
  return [{ bearer: [access] }]
}

function commonCodes(access: Access, schema: FastifySchema | undefined): Code[] {
  const codes: Code[] = ['invalid-request', 'internal-error', 'busy']
  if (access !== 'public') codes.push('unauthorized', 'issuer-unavailable')
  if (access !== 'public' && access !== 'caller') codes.push('insufficient-scope')
  if (schema?.body) codes.push('payload-too-large', 'unsupported-media-type')
  return codes
}

/** Of a status that has problems of the module and of the host, both are named. */
function merged(own: Responses, common: Responses): Responses {
  const shared = Object.keys(own).filter((status) => status in common)
  const both = shared.map((status) => [
    status,
    { ...own[status], description: joined(own[status]?.description, common[status]?.description) },
  ])
  return { ...own, ...common, ...Object.fromEntries(both) }
}

/** A code that both have is said once. */
function joined(...descriptions: (string | undefined)[]): string {
  return [...new Set(descriptions.flatMap((text) => text?.split('; ') ?? []))].join('; ')
}

/** OpenAPI wants a description of every response. */
function withDescriptions(responses: Responses): Responses {
  const described = Object.entries(responses).map(([status, response]) => [
    status,
    response.description ? response : { ...response, description: STATUS_CODES[status] ?? status },
  ])
  return Object.fromEntries(described)
}
