import type { Access } from '@mortise/module-sdk'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema, RouteOptions } from 'fastify'
import { hostProblems } from '../http/problems.ts'

type Code = Parameters<typeof hostProblems.responses>[number]

/** The schema of a route as the document shows it: with its tag, its operationId, who may use it, and every problem of the host. */
export function describeRoute(
  schema: FastifySchema | undefined,
  route: RouteOptions,
  prefix: string,
): FastifySchema {
  const access = route.config?.access as Access
  const own = (schema?.response ?? {}) as Record<string, TSchema>
  return {
    tags: [route.config?.module ?? 'application'],
    operationId: operationId(String(route.method), route.url.slice(prefix.length)),
    security: securityOf(access),
    ...schema,
    response: withCommon(own, hostProblems.responses(...commonCodes(access, schema))),
  }
}

/** `GET /cart/item/:id` is `getCartItemById`. */
function operationId(method: string, path: string): string {
  const words = path.replace(/:([A-Za-z0-9_]+)/g, 'by-$1').split(/[^A-Za-z0-9]+/)
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return `${method.toLowerCase()}${name || 'Overview'}`
}

function securityOf(access: Access) {
  if (access === 'public') return []
  if (access === 'caller') return [{ bearer: [] }, { guestToken: [] }, { guestCookie: [] }, {}]
  return [{ bearer: [access] }]
}

function commonCodes(access: Access, schema: FastifySchema | undefined): Code[] {
  const codes: Code[] = ['invalid-request', 'internal-error', 'busy']
  if (access !== 'public') codes.push('unauthorized')
  if (access !== 'public' && access !== 'caller') codes.push('insufficient-scope')
  if (schema?.body) codes.push('payload-too-large', 'unsupported-media-type')
  return codes
}

/** Of a status that has problems of both, both are described. */
function withCommon(own: Record<string, TSchema>, common: Record<string, TSchema>): Record<string, TSchema> {
  const all = { ...own }
  for (const [status, response] of Object.entries(common)) {
    const former = all[status]
    all[status] = former
      ? { ...former, description: [former.description, response.description].filter(Boolean).join('; ') }
      : response
  }
  return all
}
