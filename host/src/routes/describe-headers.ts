import { isKept } from '../requests/idempotency-records.ts'
import { isSuccess } from '../requests/transaction.ts'
import { hostTag } from './describe-route.ts'
import {
  type JsonSchema,
  type OpenapiDocument,
  type Operation,
  operationsOf,
  type Response,
} from './openapi-document.ts'

const descriptions = {
  'Request-Id': 'identifies this request in the log; yours is used if you send one',
  ETag: 'the version of the body: for If-None-Match and If-Match',
  Location: 'the path of the created resource',
  Link: 'first, prev, next and last page, if they exist (RFC 8288)',
  'Guest-Token':
    'your token, if you became a guest by this request: send it with later requests. The cookie has the same token',
  'Set-Cookie': 'the cookie of the guest: set, or cleared if it was invalid',
  'Idempotent-Replayed': '`true` if this is the response to an earlier request with the same Idempotency-Key',
  'Retry-After': 'seconds until you may try again',
  RateLimit: 'what remains of each limit (r), and the seconds until it resets (t)',
  'RateLimit-Policy':
    'the limits by caller and by address: requests, or bytes of bodies (qu), (q) per window in seconds (w)',
  'WWW-Authenticate': 'what the token lacks, or why it is invalid (RFC 6750)',
}
type Name = keyof typeof descriptions

const describe = (name: Name) => ({
  description: descriptions[name],
  schema: { type: name === 'Retry-After' ? 'integer' : 'string' },
})

/** Adds the headers that follow from the route to those that it declares. */
export function describeHeaders(document: OpenapiDocument): void {
  const used = new Set<Name>()
  for (const [method, operation] of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const names = namesOf(method, operation, status, response)
      for (const name of names) used.add(name)
      const own = names.map((name) => [name, { $ref: `#/components/headers/${name}` }] as const)
      response.headers = { ...response.headers, ...Object.fromEntries(own) }
    }
  }
  document.components.headers = Object.fromEntries([...used].map((name) => [name, describe(name)]))
}

function namesOf(method: string, operation: Operation, status: string, response: Response): Name[] {
  const names: Name[] = ['Request-Id']
  if ('429' in operation.responses) names.push('RateLimit', 'RateLimit-Policy')
  if (status === '304' || (isSuccess(Number(status)) && method !== 'delete' && hasId(response)))
    names.push('ETag')
  const hasKey = takes(operation, 'header', 'Idempotency-Key')
  if (hasKey && isKept(Number(status))) names.push('Idempotent-Replayed')
  if ((status === '201' || status === '202') && hasId(response)) names.push('Location')
  if (status === '200' && isPaged(operation)) names.push('Link')
  if (status.startsWith('2') && method !== 'get' && remembersGuests(operation)) names.push('Guest-Token')
  if (looksAtCookie(operation)) names.push('Set-Cookie')
  if (status === '401' || status === '403') names.push('WWW-Authenticate')
  if (status === '503' || status === '429' || (hasKey && status === '409')) names.push('Retry-After')
  return names
}

/** A resource with an id has a Location. A response may be one of several. */
function hasId({ content = {} }: Response): boolean {
  return Object.values(content).some(({ schema = {} }) => {
    const { anyOf = [schema] } = schema as { anyOf?: JsonSchema[] }
    return anyOf.some(({ properties }) => (properties as JsonSchema | undefined)?.id)
  })
}

const isPaged = (operation: Operation) => ['page', 'rpp'].every((name) => takes(operation, 'query', name))

const takes = ({ parameters = [] }: Operation, where: string, name: string) =>
  parameters.some((one) => one.in === where && one.name === name)

/** The host's own guest routes return the token in the body. */
const remembersGuests = ({ security, tags }: Operation) =>
  !tags.includes(hostTag) && security.some((scheme) => 'guestToken' in scheme)

/** Routes for any caller; a scope needs a token. */
const looksAtCookie = ({ security, responses }: Operation) =>
  '401' in responses && security.every((scheme) => Object.values(scheme).flat().length === 0)
