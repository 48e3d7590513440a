import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Visible ASCII without quotes, comma and backslash: safe in a header, a log line and a JSON string alike. */
const valid = /^[!#-&(-+\--[\]-~]{1,128}$/

/** The id that a request came with where it is valid, else a new one. Answered as `Request-Id`. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const incoming = headers['request-id']
  return typeof incoming === 'string' && valid.test(incoming) ? incoming : randomUUID()
}
