import { firstError } from '@mortise/application'
import type { TSchema } from '@sinclair/typebox'
import { type Exchange, isSuccess } from '../world/exchange.ts'
import type { Found, Rule } from '../world/finding.ts'
import type { Route } from '../world/watch-module.ts'
import type { World } from '../world/world.ts'

// What is judged of all responses so far, whatever the requests were for.

type ResponseRule = Rule<World>

/** The first exchange of each route that breaks the rule. */
const forExchanges =
  (broken: (exchange: Exchange, world: World) => string | undefined): ResponseRule['find'] =>
  (world) => {
    const found = new Map<Route, Found>()
    for (const exchange of world.exchanges) {
      const { route } = exchange
      if (found.has(route)) continue
      const why = broken(exchange, world)
      const place = world.module.place(exchange.error)
      const where = place ? `${route.name} (${place})` : route.where
      if (why !== undefined) found.set(route, { where, why })
    }
    return [...found.values()]
  }

const requestOf = ({ route, url, body }: Exchange) => {
  const text = body === undefined ? '' : ` with ${typeof body === 'string' ? body : JSON.stringify(body)}`
  return `${route.method} ${url}${text.length > 200 ? `${text.slice(0, 200)}…` : text}`
}

const serverErrors: ResponseRule = {
  code: 'server-error',
  finds: 'a request that ends with a 5xx',
  remedy: 'Refuse the input by its schema, or throw a problem that says what to do.',
  find: forExchanges((exchange) => {
    const { status, error = '' } = exchange
    if (status < 500 || isDeclared(exchange)) return undefined
    const [reason = ''] = error.split('\n')
    return `${requestOf(exchange)} responds with ${status}${reason && `: ${reason}`}`
  }),
}

const noResponse: ResponseRule = {
  code: 'no-response',
  finds: 'a request without a response within ten seconds',
  remedy: 'Return or send a response on every path; return request.transaction(…).',
  find: forExchanges((exchange) =>
    exchange.status === 0 ? `${requestOf(exchange)} gets no response` : undefined,
  ),
}

/** The schema of a status; undefined if there is none. */
function declaredFor({ schema, options }: Route, status: number): TSchema | undefined {
  const all: Readonly<Record<string, TSchema>> = {
    ...(options.config as { problems?: Record<string, TSchema> } | undefined)?.problems,
    ...schema.response,
  }
  const group = `${Math.floor(status / 100)}xx`
  return all[status] ?? all[group] ?? all[group.toUpperCase()] ?? all.default
}

const isDeclared = ({ route, status }: Exchange) => declaredFor(route, status) !== undefined

interface ProblemBody {
  readonly type?: string
  readonly code?: string
}

const undeclaredStatuses: ResponseRule = {
  code: 'undeclared-status',
  finds:
    'a response that the route does not declare: clients do not expect it, and no schema limits its fields',
  remedy: 'Add the status to schema.response; for a problem ...responses(code).',
  find: forExchanges((exchange, { module }) => {
    const { route, status, json } = exchange
    if (status === 0 || status === 304 || (status >= 500 && !isDeclared(exchange))) return undefined
    const { type, code = '' } = (json ?? {}) as ProblemBody
    if (typeof type === 'string' && type.startsWith('urn:problem-type:')) {
      if (!type.startsWith(`urn:problem-type:${module.id}:`)) return undefined
      const { description = '' } = declaredFor(route, status) ?? {}
      if (description.includes(`\`${code}\``)) return undefined
      return `${requestOf(exchange)} responds with the problem ${code} (${status})`
    }
    const isSilent = isSuccess(exchange) && Object.keys(route.schema.response ?? {}).length === 0
    return isSilent || isDeclared(exchange) ? undefined : `${requestOf(exchange)} responds with ${status}`
  }),
}

const responseBodies: ResponseRule = {
  code: 'wrong-response',
  finds: 'a response that its own schema refuses',
  remedy: 'Correct the handler, or the schema.',
  find: forExchanges((exchange) => {
    const { route, status, json } = exchange
    if (!isSuccess(exchange) || json === undefined) return undefined
    const declared = declaredFor(route, status)
    const schema = declared?.content?.['application/json']?.schema ?? declared
    if (schema === undefined) return undefined
    try {
      const wrong = firstError(schema, json)
      return wrong && `${requestOf(exchange)} responds with "${wrong.path.join('.')}", which ${wrong.reason}`
    } catch {
      return undefined // the schema refers to shared ones
    }
  }),
}

const misplacedResponses: ResponseRule = {
  code: 'misplaced-response',
  finds: '`respond()` outside of `request.transaction`: its parts are sent as the body',
  remedy:
    'Return `request.transaction(function* () { … return respond(201, note) })`, or use `reply.code(201)`.',
  find: ({ module }) =>
    [...module.misplacedResponses].map(({ where }) => ({
      where,
      why: 'the handler returns respond() itself',
    })),
}

const cacheable: ResponseRule = {
  code: 'cacheable-response',
  finds: "a caller's own data that caches may keep and give to others",
  remedy: 'Leave cache-control as the host sets it (no-store), or write "private, no-cache".',
  find: forExchanges((exchange) => {
    const { route, headers } = exchange
    if (route.access === 'public' || !isSuccess(exchange)) return undefined
    const control = String(headers['cache-control'] ?? '')
    if (/\b(no-store|private|no-cache)\b/i.test(control) && !/\bpublic\b/i.test(control)) return undefined
    return `${requestOf(exchange)} responds with cache-control: ${control || '(none)'}`
  }),
}

/** What is nobody else's business. */
const PRIVATE = /^(owner|owner_?id|password|password_?hash|secret|api_?key|email|phone|ip|ip_?address)$/i

const publicFields: ResponseRule = {
  code: 'public-field',
  finds:
    'a public route whose schema has a private field: one that names a caller, or that no response needs',
  remedy: 'Give the public route a schema of its own, with the fields that everybody may see.',
  find(world) {
    const callers = new Set(Object.values(world.people).map(({ id }) => id))
    return world.routes.flatMap((route): Found[] => {
      if (route.access !== 'public' || route.method !== 'GET') return []
      const sent = world.exchanges
        .filter((one) => one.route === route && isSuccess(one))
        .map(({ json }) => json)
      const declared = [...namesIn(Object.values(route.schema.response ?? {}))].filter((name) =>
        PRIVATE.test(name),
      )
      const name = declared.find((one) => {
        const values = sent.flatMap((json) => [...valuesOf(json, one)])
        const hasRows = sent.some((json) => longestIn(json) > 0)
        return values.some((value) => callers.has(value as string)) || (hasRows && values.length === 0)
      })
      return name === undefined
        ? []
        : [{ where: route.where, why: `its schema sends "${name}" to everybody` }]
    })
  },
}

function* namesIn(schema: unknown): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  const { properties } = schema as TSchema
  if (properties) yield* Object.keys(properties)
  for (const inner of Object.values(schema)) yield* namesIn(inner)
}

/** The values of each property with this name. */
function* valuesOf(value: unknown, name: string): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return
  if (name in value) yield (value as Record<string, unknown>)[name]
  for (const inner of Object.values(value)) yield* valuesOf(inner, name)
}

const longestIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Math.max(Array.isArray(value) ? value.length : 0, ...Object.values(value).slice(0, 50).map(longestIn))
    : 0

const unordered: ResponseRule = {
  code: 'limit-unordered',
  finds: 'LIMIT without ORDER BY: which rows come is chance, and differs between the engines',
  remedy: 'Add ORDER BY with a column that is unique at its end: ORDER BY created_at, id.',
  find: forExchanges(({ steps, json }) => {
    const step = steps.find(({ text, query, result }) => {
      if (!/^(select|with)\b/i.test(text) || /\bmortise_/.test(text) || !Array.isArray(result)) return false
      const [, limit] =
        /\blimit (\?|\d+\b)(?!(?: offset (?:\?|\d+))? *\))(?:(?!\bfrom\b).)*$/i.exec(text) ?? []
      const isOne = limit === '1' || (limit === '?' && query?.values.at(-1) === 1)
      return limit !== undefined && !isOne && !/\border by\b/i.test(text) && json !== undefined
    })
    return step && `it reads ${step.text.slice(0, 120)}`
  }),
}

const locations: ResponseRule = {
  code: 'no-location',
  finds: 'a created resource without its Location, which the OpenAPI document promises',
  remedy: 'Return `respond(201, note, { location })` with the path of its GET.',
  find: forExchanges((exchange, { routes, exchanges }) => {
    const { route, status, json, headers, caller } = exchange
    const hasId = typeof json === 'object' && json !== null && 'id' in json
    if (status !== 201 || !hasId || headers.location !== undefined) return undefined
    const shown = routes.some(
      ({ method, path }) =>
        method === 'GET' &&
        path.startsWith(`${route.path}/:`) &&
        !path.slice(route.path.length + 2).includes('/'),
    )
    // The id may be the one of something else, whose GET is elsewhere.
    const path = `${route.path}/${encodeURIComponent(String((json as { id: unknown })?.id))}`
    const isThere = exchanges.some(
      (one) => one.caller === caller && one.route.method === 'GET' && one.url === path && isSuccess(one),
    )
    return shown && isThere ? `${requestOf(exchange)} responds with 201 and no Location` : undefined
  }),
}

export const responseRules = [
  serverErrors,
  noResponse,
  undeclaredStatuses,
  responseBodies,
  misplacedResponses,
  locations,
  cacheable,
  publicFields,
  unordered,
]
