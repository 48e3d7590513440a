import { withoutDefaulted } from '@mortise/application'
import type { Access } from '@mortise/module-sdk'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifySchema, RouteOptions } from 'fastify'
import { mediaTypeOf } from '../http/form-schema.ts'
import { http } from '../http/node-http.ts'
import { operationIdOf } from '../http/operation-id.ts'
import { isProtected, problemsOf } from './route-problems.ts'

type Responses = Readonly<Record<string, TSchema>>

/** The tag of the host's own routes. */
export const hostTag = 'application'

/** The schema of a route for the document: with tag, operationId, access, and every problem. */
export function describeRoute(
  schema: FastifySchema | undefined,
  route: RouteOptions,
  prefix: string,
): FastifySchema {
  return {
    tags: [route.config?.module ?? hostTag],
    ...schema,
    operationId: operationIdOf(route, prefix),
    security: securityOf(route.config?.access as Access, schema?.security),
    ...(route.config?.tool === false && { 'x-tool': false }),
    ...withHeaders(schema?.headers as TSchema | undefined, headersOf(route)),
    ...(schema?.querystring ? { querystring: withoutDefaulted(schema.querystring as TSchema) } : {}),
    ...(schema?.body ? { body: describeBody(schema.body as TSchema) } : {}),
    ...(route.config?.form && { consumes: [mediaTypeOf(route.config.form)] }),
    response: withDescriptions({
      ...(schema?.response as Responses | undefined),
      ...(showsResource(route) && {
        304: Type.Unsafe({ description: 'not modified: you have the current version' }),
      }),
      ...problemsOf(route, schema),
    }),
  }
}

/** A route for everybody or for any caller may say that it takes less; a scope is always named. */
function securityOf(access: Access, own: FastifySchema['security']) {
  if (access === 'public') return own ?? []
  if (access === 'caller') return own ?? [{ bearer: [] }, { guestToken: [] }, { guestCookie: [] }, {}]
  return [{ bearer: [access] }]
}

/** The request headers that the host reads for a route. */
function headersOf(route: RouteOptions): Record<string, TSchema> {
  const { config } = route
  const headers: Record<string, TSchema> = {}
  if (isProtected(route)) {
    headers['Idempotency-Key'] = Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '^[!-~]+$',
      description:
        'a new key for each intended change, for example a UUID. Requests with the same key take effect once, and their response is replayed for 24 hours. It needs credentials, at least a guest token.',
    })
  }
  if (config?.ifMatch !== undefined) {
    headers['If-Match'] = Type.String({
      description: `one or more ETags of ${config.ifMatch.resource}: the request is refused if none is current`,
    })
  }
  if (showsResource(route)) {
    headers['If-None-Match'] = Type.String({
      description: 'your ETags: 304 if one of them is current',
    })
  }
  return headers
}

/** Whether its response is one resource, which has an id. */
const showsResource = ({ method, schema }: RouteOptions) =>
  method === 'GET' && (schema?.response as Responses | undefined)?.[200]?.properties?.id !== undefined

/** The headers are optional, except for those of the route's own schema. */
function withHeaders(own: TSchema | undefined, added: Record<string, TSchema>) {
  if (Object.keys(added).length === 0) return {}
  return { headers: { type: 'object', ...own, properties: { ...own?.properties, ...added } } }
}

/** OpenAPI requires a description for every response. */
function withDescriptions(responses: Responses): Responses {
  const described = Object.entries(responses).map(([status, response]) => [
    status,
    response.description ? response : { ...response, description: http.STATUS_CODES[status] ?? status },
  ])
  return Object.fromEntries(described)
}

/**
 * The schema of a body for the document: properties with a default are optional, and the default is
 * in the description. Client generators would take a field with the keyword `default` for a
 * required one.
 */
function describeBody(schema: TSchema): TSchema {
  const { default: value, properties, items, ...rest } = withoutDefaulted(schema)
  const words = `${JSON.stringify(value)} by default`
  const inside = (children: Record<string, TSchema>) =>
    Object.fromEntries(Object.entries(children).map(([name, child]) => [name, describeBody(child)]))
  return {
    ...rest,
    ...(properties && { properties: inside(properties) }),
    ...(items && { items: describeBody(items) }),
    ...(value !== undefined && { description: rest.description ? `${rest.description}; ${words}` : words }),
  } as unknown as TSchema
}
