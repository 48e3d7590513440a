import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Destinations } from './destinations.ts'

// An import of node:http would load all of undici.
const { request: requestHttp } = process.getBuiltinModule('node:http')

/** The time limit for name resolution, connection and response together, in milliseconds. */
const TIME_LIMIT = 15_000
/** The most bytes to read of a response body, and to accept of its headers. */
const RESPONSE_LIMIT = 4096
const HEADER_LIMIT = 8192

/** What `fetchPublic` sends, and how far it goes. */
export interface PublicRequest {
  readonly destinations: Destinations
  /** `GET` if absent. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** In milliseconds, for everything: 15,000 if absent. */
  readonly timeLimit?: number | undefined
  /** The bytes of the response body to read at most; the rest is not read: 4,096 if absent. */
  readonly responseLimit?: number
  /** Aborts the request. */
  readonly ended?: AbortSignal
}

/** What became of a request: a response, or the reason for none. */
export type PublicOutcome =
  | {
      readonly status: number
      readonly headers: IncomingHttpHeaders
      /** The beginning of the body, as far as it arrived. */
      readonly body: Buffer
      readonly error: null
    }
  | { readonly status: null; readonly error: string }

/**
 * A request to an address that a caller has named. It connects only to allowed destinations,
 * resolves the name once, follows no redirects, uses no proxy, and trusts nothing in the response.
 * Never rejects. A name that does not resolve takes the whole time limit, so that nobody learns the
 * names of an internal network.
 */
export function fetchPublic(
  url: URL,
  {
    destinations,
    method = 'GET',
    headers,
    body,
    timeLimit = TIME_LIMIT,
    responseLimit = RESPONSE_LIMIT,
    ended,
  }: PublicRequest,
): Promise<PublicOutcome> {
  const refusal = destinations.refusal(url)
  if (refusal !== undefined) return Promise.resolve(noResponse(`not sent: the URL ${refusal}`))
  return new Promise((resolve) => {
    let isLookingUp = false
    const late = new AbortController()
    const deadline = late.signal
    const timer = setTimeout(() => late.abort(), timeLimit).unref()
    const signal = ended ? AbortSignal.any([deadline, ended]) : deadline
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      headers: { ...headers, ...(body && { 'content-length': String(body.length) }) },
      // A separate connection, without a proxy.
      agent: false,
      lookup(hostname, options, callback) {
        isLookingUp = true
        destinations.lookup(hostname, options, (...found) => {
          isLookingUp = false
          callback(...found)
        })
      },
      maxHeaderSize: HEADER_LIMIT,
      signal,
    })
    let responded = false
    request.on('response', async (response) => {
      responded = true
      const read = await beginningOf(response, responseLimit)
      request.destroy()
      resolve({ status: response.statusCode as number, headers: response.headers, body: read, error: null })
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (responded) return
      const reason = ended?.aborted
        ? 'cut off: the application stopped'
        : deadline.aborted
          ? isLookingUp
            ? destinations.unreachable
            : `no response within ${timeLimit / 1000} s`
          : error.message || error.code
      resolve(noResponse(reason ?? 'unknown'))
    })
    // Also for a response that asks for another protocol.
    request.on('close', () => {
      clearTimeout(timer)
      if (!responded) resolve(noResponse('the connection ended without a response'))
    })
    request.end(body)
  })
}

const noResponse = (error: string): PublicOutcome => ({ status: null, error })

async function beginningOf(response: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= limit) break
    }
  } catch {
    // Aborted, too slow, or not HTTP: what came before counts.
  }
  return Buffer.concat(chunks).subarray(0, limit)
}
