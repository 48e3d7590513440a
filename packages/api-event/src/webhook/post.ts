import type { IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type Destinations, unreachable } from './destinations.ts'

// An import of node:http would load all of undici.
const { request: requestHttp } = process.getBuiltinModule('node:http')

export interface Outcome {
  /** The status of the response; null without a response. */
  readonly status: number | null
  /** The reason for no response. */
  readonly error: string | null
  /** The beginning of the response body, as printable text; null without a response. */
  readonly response: string | null
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: number
}

/** The time limit for name resolution, connection and response together, in milliseconds. */
const TIME_LIMIT = 15_000
/** The most bytes to read of a response body, and to accept of its headers. */
const RESPONSE_LIMIT = 4096
const HEADER_LIMIT = 8192

/**
 * Sends a POST and reads the response. Only the status counts, whatever happens to the body. It
 * follows no redirects and trusts nothing in the response. Never rejects. An unresolvable name
 * takes the whole time limit.
 * @param ended aborts the request
 */
export function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  destinations: Destinations,
  { timeLimit = TIME_LIMIT, ended }: { timeLimit?: number | undefined; ended?: AbortSignal } = {},
): Promise<Outcome> {
  const refusal = destinations.refusal(url)
  if (refusal !== undefined) return Promise.resolve(noResponse(`not sent: the URL ${refusal}`))
  return new Promise((resolve) => {
    let isLookingUp = false
    const late = new AbortController()
    const deadline = late.signal
    const timer = setTimeout(() => late.abort(), timeLimit).unref()
    const signal = ended ? AbortSignal.any([deadline, ended]) : deadline
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
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
      const text = await beginningOf(response)
      request.destroy()
      resolve({ status: response.statusCode as number, error: null, response: text, ...pauseOf(response) })
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (responded) return
      const reason = ended?.aborted
        ? 'cut off: the application stopped'
        : deadline.aborted
          ? isLookingUp
            ? unreachable
            : `no response within ${timeLimit / 1000} s`
          : error.message || error.code
      resolve(noResponse(printable(reason ?? 'unknown')))
    })
    // Also for a response that asks for another protocol.
    request.on('close', () => {
      clearTimeout(timer)
      if (!responded) resolve(noResponse('the connection ended without a response'))
    })
    request.end(body)
  })
}

const noResponse = (error: string): Outcome => ({ status: null, error, response: null })

async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= RESPONSE_LIMIT) break
    }
  } catch {
    // Aborted, too slow, or not HTTP: the outcome shows what came before.
  }
  return printable(Buffer.concat(chunks).subarray(0, RESPONSE_LIMIT).toString())
}

const printable = (text: string) => text.replace(/[^\P{C}\n\r\t]/gu, '\uFFFD')

function pauseOf({ headers }: IncomingMessage): { retryAfter?: number } {
  const seconds = headers['retry-after']
  return seconds !== undefined && /^\d{1,6}$/.test(seconds) ? { retryAfter: Number(seconds) } : {}
}
