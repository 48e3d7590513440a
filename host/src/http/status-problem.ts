import { Problem, type ProblemOptions } from '@mortise/module-sdk'
import { http } from './node-http.ts'
import { hostProblems, invalidRequest } from './problems.ts'

/** The codes of the host that stand for a status as such. */
const codes = {
  401: 'unauthorized',
  413: 'payload-too-large',
  417: 'expectation-failed',
  429: 'rate-limited',
  431: 'header-fields-too-large',
} as const satisfies Record<number, Parameters<typeof hostProblems.create>[0]>

/**
 * The problem for an error that names an HTTP status, as Fastify's plugins do: the status of the
 * reply, or else `statusCode` or `status` of the error. The code is that of the host, or the name of
 * the status: `forbidden`. The text of the error is the detail, except for a server error.
 *
 * A TypeError or its like is a bug: it has no status but its own, whatever the reply has.
 *
 * @returns undefined for an error without a status from 400 to 599
 */
export function statusProblem(error: unknown, replyStatus = 200): Problem | undefined {
  const { statusCode, status, message, headers } = (error ?? {}) as Record<string, unknown>
  const own = [statusCode, status].find(isFailure)
  const found = isFailure(replyStatus) && !isBug(error) ? replyStatus : own
  if (found === undefined || found === 500) return undefined
  const title = http.STATUS_CODES[found] ?? 'Failure'
  const detail = typeof message === 'string' && message !== '' && found < 500 ? message : title
  const options: ProblemOptions = { cause: error, headers: sentHeaders(headers) }
  if (found === 400) return invalidRequest(detail, [{ pointer: '', detail }], options)
  const code = codes[found as keyof typeof codes] ?? codeOf(title)
  const known = hostProblems.definitions[code as keyof typeof hostProblems.definitions]
  return new Problem('host', code, { title: known?.title ?? title, status: found }, detail, options)
}

const isFailure = (status: unknown): status is number =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600

const isBug = (error: unknown) =>
  [TypeError, RangeError, ReferenceError, SyntaxError].some((bug) => error instanceof bug)

/** "I'm a Teapot": `im-a-teapot` */
const codeOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll("'", '')
    .replaceAll(/[^a-z]+/g, '-')

/**
 * The headers that say what to do. An error of an HTTP client has all headers of the response that it
 * got, such as the cookies of another server.
 */
const kept = /^(?:allow|retry-after|www-authenticate|(?:x-)?ratelimit(?:-.*)?)$/

function sentHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  const texts = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const)
  return Object.fromEntries(texts.filter(([name]) => kept.test(name)))
}
