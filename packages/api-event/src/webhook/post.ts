import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type Destinations, unreachable } from './destinations.ts'

/** How an attempt has ended. */
export interface Outcome {
  /** Of the answer; null where there was none. */
  readonly status: number | null
  /** Why there was none. */
  readonly error: string | null
  /** What the answer begins with, as printable text; null where there was none. */
  readonly response: string | null
  /** Of `Retry-After`, in seconds. */
  readonly retryAfter?: number
}

/** Within this many milliseconds there must be an answer, name, connection and all. */
const TIME_LIMIT = 15_000
/** Bytes of an answer that are read, and of its headers that are taken. */
const RESPONSE_LIMIT = 4096
const HEADER_LIMIT = 8192

/**
 * Sends a POST, and reads what is answered: the status is what counts, whatever becomes of the body. Redirects are not
 * followed, and nothing of the answer is trusted. Never rejects. A name that leads nowhere takes all of the time limit.
 *
 * @param ended cuts it off
 */
export function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  destinations: Destinations,
  { timeLimit = TIME_LIMIT, ended }: { timeLimit?: number | undefined; ended?: AbortSignal } = {},
): Promise<Outcome> {
  const refusal = destinations.refusal(url)
  if (refusal !== undefined) return Promise.resolve(unanswered(`not sent: the URL ${refusal}`))
  return new Promise((resolve) => {
    let isLookingUp = false
    const deadline = AbortSignal.timeout(timeLimit)
    const signal = ended ? AbortSignal.any([deadline, ended]) : deadline
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(body.length) },
      // A connection of its own, to no proxy.
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
    let answered = false
    request.on('response', async (response) => {
      answered = true
      const text = await beginningOf(response)
      request.destroy()
      resolve({ status: response.statusCode as number, error: null, response: text, ...pauseOf(response) })
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (answered) return
      const reason = ended?.aborted
        ? 'cut off: the application has ended'
        : deadline.aborted
          ? isLookingUp
            ? unreachable
            : `no answer within ${timeLimit / 1000} s`
          : error.message || error.code
      resolve(unanswered(printable(reason ?? 'unknown')))
    })
    // Also where an answer wants another protocol.
    request.on('close', () => {
      if (!answered) resolve(unanswered('the connection ended without an answer'))
    })
    request.end(body)
  })
}

const unanswered = (error: string): Outcome => ({ status: null, error, response: null })

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
    // Cut off, too slow, or no HTTP: what came before is shown.
  }
  return printable(Buffer.concat(chunks).subarray(0, RESPONSE_LIMIT).toString())
}

const printable = (text: string) => text.replace(/[^\P{C}\n\r\t]/gu, '\uFFFD')

function pauseOf({ headers }: IncomingMessage): { retryAfter?: number } {
  const seconds = headers['retry-after']
  return seconds !== undefined && /^\d{1,6}$/.test(seconds) ? { retryAfter: Number(seconds) } : {}
}
