import { STATUS_CODES } from 'node:http'
import { Problem, type ProblemOptions } from '@mortise/module-sdk'
import { hostProblems, invalidRequest } from './problems.ts'

/** The codes of the host that stand for a status as such. */
const codes = {
  401: 'unauthorized',
  404: 'not-found',
  408: 'request-timeout',
  413: 'payload-too-large',
  415: 'unsupported-media-type',
  429: 'rate-limited',
} as const satisfies Record<number, Parameters<typeof hostProblems.create>[0]>

/**
 * The problem for an error that names an HTTP status, as Fastify's plugins do: `statusCode` or
 * `status` of the error, or the status of the reply. The code is that of the host, or the name of the
 * status: `forbidden`. The text of the error is the detail, except for a server error.
 *
 * @returns undefined for an error without a status from 400 to 599
 */
export function statusProblem(error: unknown, replyStatus = 200): Problem | undefined {
  const { statusCode, status, message, headers } = (error ?? {}) as Record<string, unknown>
  const found = [statusCode, status, replyStatus].find(isFailure)
  if (found === undefined || found === 500) return undefined
  const title = STATUS_CODES[found] ?? 'Failure'
  const detail = typeof message === 'string' && message !== '' && found < 500 ? message : title
  const options: ProblemOptions = { cause: error, headers: textHeaders(headers) }
  if (found === 400) return invalidRequest(detail, [{ pointer: '', detail }], options)
  if (found in codes) return hostProblems.create(codes[found as keyof typeof codes], detail, options)
  return new Problem('host', codeOf(title), { status: found, title }, detail, options)
}

const isFailure = (status: unknown): status is number =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600

/** "I'm a Teapot": `im-a-teapot` */
const codeOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll("'", '')
    .replaceAll(/[^a-z]+/g, '-')

function textHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  const texts = Object.entries(headers).filter(([, value]) => ['string', 'number'].includes(typeof value))
  return Object.fromEntries(texts.map(([name, value]) => [name.toLowerCase(), String(value)]))
}
