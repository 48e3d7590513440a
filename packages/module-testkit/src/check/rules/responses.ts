import { firstError } from '@mortise/host'
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
  mend: 'Refuse the input by its schema, or throw a problem that says what to do.',
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
  mend: 'Return or send a response on every path; return request.transaction(…).',
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
  mend: 'Add the status to schema.response; for a problem ...responses(code).',
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
  mend: 'Correct the handler, or the schema.',
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

const misplacedAnswers: ResponseRule = {
  code: 'misplaced-answer',
  finds: '`answer()` outside of `request.transaction`: its parts are sent as the body',
  mend: 'Return `request.transaction(function* () { … return answer(201, note) })`, or use `reply.code(201)`.',
  find: ({ module }) =>
    [...module.misplacedAnswers].map(({ where }) => ({
      where,
      why: 'the handler returns an answer() itself',
    })),
}

const locations: ResponseRule = {
  code: 'no-location',
  finds: 'a created resource without its Location, which the OpenAPI document promises',
  mend: 'Return `answer(201, note, { location })` with the path of its GET.',
  find: forExchanges((exchange, { routes }) => {
    const { route, status, json, headers } = exchange
    const hasId = typeof json === 'object' && json !== null && 'id' in json
    if (status !== 201 || !hasId || headers.location !== undefined) return undefined
    const shown = routes.some(
      ({ method, path }) =>
        method === 'GET' &&
        path.startsWith(`${route.path}/:`) &&
        !path.slice(route.path.length + 2).includes('/'),
    )
    return shown ? `${requestOf(exchange)} responds with 201 and no Location` : undefined
  }),
}

export const responseRules = [
  serverErrors,
  noResponse,
  undeclaredStatuses,
  responseBodies,
  misplacedAnswers,
  locations,
]
