import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

export interface Asked {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/**
 * The moment at which the client closes the connection: inside its body, after the body, or after
 * the head of the response. Undefined: never.
 */
export type Cut = 'during the request' | 'before the response' | 'during the response' | undefined

/**
 * Sends a request.
 * @throws {Error} if the connection broke; the outcome is then unknown
 */
export async function ask(
  agent: Agent,
  { url, method, headers, body = '' }: Asked,
  cut?: Cut,
): Promise<Reply> {
  const length = { 'content-length': Buffer.byteLength(body) }
  const type = body === '' ? {} : { 'content-type': 'application/json', ...length }
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const sent = request(url, { agent, method, headers: { ...headers, ...type } })
  sent.once('error', reject)
  sent.once('response', (response) => {
    if (cut === 'during the response') return sent.destroy(new Error('cut'))
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
      reject,
    )
  })
  if (cut === 'during the request') {
    sent.write(body.slice(0, -1))
    setImmediate(() => sent.destroy(new Error('cut')))
  } else {
    sent.end(body)
    // Sometimes before the host has read the request, sometimes while it writes.
    if (cut === 'before the response') pause(Math.random() * 8).then(() => sent.destroy(new Error('cut')))
  }
  return promise
}
