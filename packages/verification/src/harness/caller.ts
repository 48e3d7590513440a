import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

export type Headers = Readonly<Record<string, string>>

export interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly headers?: Headers
  /** Sent as JSON. */
  readonly body?: object
}

/**
 * The moment at which the client closes the connection: inside its body, after the body, or after
 * the head of the response. Undefined: never.
 */
export type Cut = 'during the request' | 'before the response' | 'during the response' | undefined

export class Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string

  constructor(status: number, headers: Reply['headers'], text: string) {
    this.status = status
    this.headers = headers
    this.text = text
  }

  // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
  get json(): any {
    return JSON.parse(this.text)
  }

  /** The code of a problem. */
  get code(): string | undefined {
    return this.status >= 400 && this.text.startsWith('{') ? this.json.code : undefined
  }

  get isReplay(): boolean {
    return this.headers['idempotent-replayed'] === 'true'
  }
}

/** The longest time until `insist` has a response, in milliseconds. */
const PATIENCE = 60_000

/** One who sends requests to hosts, with their own headers. */
export class Caller {
  readonly #agent: Agent
  readonly #urlOf: () => string
  readonly headers: Headers

  /** @param urlOf chooses the host of the next request */
  constructor(agent: Agent, urlOf: () => string, headers: Headers = {}) {
    this.#agent = agent
    this.#urlOf = urlOf
    this.headers = headers
  }

  /** @throws {Error} if the connection broke; the outcome is then unknown */
  async send({ method, path, headers, body }: Asked, cut?: Cut): Promise<Reply> {
    const sent = body === undefined ? '' : JSON.stringify(body)
    const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const asked = request(this.#urlOf() + path, {
      agent: this.#agent,
      method,
      headers: { ...this.headers, ...headers, ...(sent !== '' && type) },
    })
    const end = () => asked.destroy(new Error('cut'))
    asked.once('error', reject)
    asked.once('response', (response) => {
      if (cut === 'during the response') return end()
      const { statusCode = 0, headers } = response
      text(response).then((all) => resolve(new Reply(statusCode, headers, all)), reject)
    })
    if (cut === 'during the request') {
      asked.write(sent.slice(0, -1))
      setImmediate(end)
    } else {
      asked.end(sent)
      // Sometimes before the host has read the request, sometimes while it writes.
      if (cut === 'before the response') pause(Math.random() * 8).then(end)
    }
    return promise
  }

  get(path: string): Promise<Reply> {
    return this.send({ method: 'GET', path })
  }

  post(path: string, body: object, headers?: Headers): Promise<Reply> {
    return this.send({ method: 'POST', path, body, ...(headers && { headers }) })
  }

  /**
   * Sends a request until it has a response that decides it.
   * @throws {Error} after a minute without one
   */
  async insist(asked: Asked): Promise<Reply> {
    let last = 'nothing'
    for (const end = performance.now() + PATIENCE; performance.now() < end; await pause(20)) {
      const reply = await this.send(asked).catch(String)
      if (typeof reply !== 'string' && !isUndecided(reply)) return reply
      last = typeof reply === 'string' ? reply : `${reply.status} ${reply.text}`
    }
    throw new Error(`${asked.method} ${asked.path} had no response within ${PATIENCE / 1000} s: ${last}`)
  }

  /** Each element of a list with pages. @throws {Error} if a page is refused */
  async list<Element>(path: string): Promise<Element[]> {
    const found: Element[] = []
    for (let next: string | undefined = path; next !== undefined; ) {
      const reply = await this.get(next)
      if (reply.status !== 200) throw new Error(`GET ${next} got ${reply.status} ${reply.text}`)
      const page = reply.json
      found.push(...page.data)
      const hasNext = String(reply.headers.link ?? '').includes('rel="next"')
      // By cursor, since pages by number end at row 10,000.
      const following = hasNext ? `${path}&after=${page.data.at(-1).id}` : undefined
      next = page.more === true ? page.next : following
    }
    return found
  }
}

/** Whether nothing is decided yet: the request may be repeated with its key. */
export const isUndecided = ({ status, code }: Reply) => status >= 500 || code === 'idempotency-running'

/** The headers of a user, and of a guest. */
export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
