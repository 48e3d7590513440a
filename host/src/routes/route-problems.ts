import { formsOf, problemContent } from '@mortise/module-sdk/host'
import type { TSchema } from '@sinclair/typebox'
import type { FastifySchema, RouteOptions } from 'fastify'
import { hostProblems } from '../http/problems.ts'
import { isWrite } from '../http/request-head.ts'

type Responses = Readonly<Record<string, TSchema>>
type Code = Parameters<typeof hostProblems.responses>[number]

/** Every problem of a route by status: its own and the host's. */
export function problemsOf(route: RouteOptions, schema: FastifySchema | undefined): Responses {
  // Its schema declares them in its own form.
  if (route.config?.problemForm !== undefined) return { ...route.config.problems, default: refused }
  const common = hostProblems.responses(...codesOf(route, schema))
  return { ...merged(route.config?.problems ?? {}, common), default: refused }
}

/** Not on routes without a caller, and not on the host's own routes. */
export const isProtected = ({ method, config }: RouteOptions) =>
  isWrite(String(method)) &&
  config?.module !== undefined &&
  config.access !== 'public' &&
  config.idempotencyKey !== false

const unread = Object.values<TSchema>(
  hostProblems.responses(
    'request-timeout',
    'expectation-failed',
    'header-fields-too-large',
    'unsupported-transfer-encoding',
    'http-version-not-supported',
  ),
)
/** What the server refuses before it knows the route. */
const refused: TSchema = unread.reduce(both)

/** Problems of an Idempotency-Key: scopes may have gone since its response was kept. */
const protectedCodes = ['idempotency-running', 'idempotency-mismatch', 'insufficient-scope'] as const

function codesOf(route: RouteOptions, schema: FastifySchema | undefined): Code[] {
  const { config, method } = route
  const access = config?.access
  // Includes those of a body, since GET and HEAD refuse one, and of If-Match, since resources
  // without an ETag refuse it.
  const codes: Code[] = [
    'invalid-request',
    'payload-too-large',
    'unsupported-media-type',
    'precondition-failed',
    'internal-error',
    'busy',
  ]
  if (config?.unlimited !== true) codes.push('rate-limited')
  if (isWrite(String(method))) codes.push('outcome-unknown', 'storage-full')
  if (access !== 'public' || config?.module !== undefined) codes.push('database-unavailable')
  if (access !== 'public') codes.push('unauthorized', 'issuer-unavailable')
  if (access !== 'public' && access !== 'caller') codes.push('insufficient-scope')
  if (access === 'caller' && isWrite(String(method))) codes.push('cross-site')
  if (mayNotFit(schema?.params as TSchema | undefined)) codes.push('not-found')
  if (isProtected(route)) codes.push(...protectedCodes)
  return [...new Set(codes)]
}

/** Whether a path can have a parameter that its schema refuses: not if any text is valid. */
function mayNotFit(params: TSchema | undefined): boolean {
  return Object.values<TSchema>(params?.properties ?? {}).some((schema) => {
    const { type, title, description, examples, ...limits } = schema
    return type !== 'string' || Object.keys(limits).length > 0
  })
}

/** If a status has problems of the module and of the host, both are named. */
function merged(own: Responses, common: Responses): Responses {
  const shared = Object.entries(own).flatMap(([status, response]) => {
    const other = common[status]
    return other === undefined ? [] : [[status, both(response, other)]]
  })
  return { ...own, ...common, ...Object.fromEntries(shared) }
}

function both(one: TSchema, other: TSchema): TSchema {
  const forms = [one, other].flatMap(({ content }) => formsOf(content))
  return {
    ...one,
    description: joined(one.description, other.description),
    content: problemContent([...new Map(forms.map((form) => [JSON.stringify(form), form])).values()]),
  }
}

/** A code that both have appears once. */
function joined(...descriptions: (string | undefined)[]): string {
  return [...new Set(descriptions.flatMap((text) => text?.split('; ') ?? []))].join('; ')
}
