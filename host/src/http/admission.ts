import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { RecentRefusals } from '@mortise/storage'
import { discardBody } from './discard-body.ts'
import { respondProblem } from './respond-problem.ts'
import { busy } from './too-many.ts'

/**
 * The requests that begin per turn of the event loop, as many as one commit takes, and the longest
 * turn, in milliseconds.
 */
const TURN = { requests: 128, milliseconds: 50 }
/**
 * How long no request begins while connections arrive, in milliseconds: libuv accepts one per turn,
 * so turns are short then.
 */
const ACCEPTING = 50
/** How long a request may wait to begin, in milliseconds. */
const PATIENCE = 1_000
/** How often waiting requests are checked while none can begin, in milliseconds. */
const LOOK_INTERVAL = 50

export interface AdmissionOptions {
  /** Handles a request that begins. */
  readonly listener: RequestListener
  /** Requests in progress at a time, without those whose response has begun, such as streams. */
  readonly maxRequests: number
  /** Requests that may wait in addition. */
  readonly maxWaiting: number
}

/** A response that reports when its head is sent, and drops the unread rest of a request body. */
export class Response<Request extends IncomingMessage> extends ServerResponse<Request> {
  onHead: (() => void) | undefined

  // biome-ignore lint/suspicious/noExplicitAny: it has two signatures
  override writeHead(...args: any): this {
    if (!this.req.complete) discardBody(this)
    super.writeHead(...(args as [number]))
    this.onHead?.()
    return this
  }
}

interface Waiting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The end of its wait, on the clock of `performance`. */
  readonly until: number
}

/**
 * Keeps a process responsive under any load: it limits the requests in progress, queues the next
 * ones in order, and refuses those that waited for a second (503). With an empty queue a request
 * begins at once.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #refusals = new RecentRefusals()
  #working = 0
  #waiting: Waiting[] = []
  /** End of the time in which this turn begins requests; undefined before the first. */
  #turnEnds: number | undefined
  #begunInTurn = 0
  #timer: NodeJS.Timeout | undefined
  /** A connection arrived in this turn. */
  #hasAccepted = false
  /** End of the time in which connections come first. */
  #acceptsUntil: number | undefined
  #isOpen = false

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** Why requests were refused recently; undefined while none are. */
  get refusal(): string | undefined {
    return this.#refusals.reason
  }

  /** Requests refused so far. */
  get refused(): number {
    return this.#refusals.count
  }

  /** Called for each new connection: more may follow, a health probe among them. */
  accepted(): void {
    const now = performance.now()
    this.#hasAccepted = true
    this.#acceptsUntil ??= now + ACCEPTING
    this.#turnEnds ??= this.#beginTurn(now)
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    const now = performance.now()
    this.#turnEnds ??= this.#beginTurn(now)
    if (this.#isOpen || (this.#waiting.length === 0 && this.#hasRoom(now))) {
      this.#begin(request, response)
    } else if (this.#waiting.length < this.#options.maxWaiting) {
      this.#waiting.push({ request, response, until: now + PATIENCE })
    } else {
      this.#refuse(request, response)
    }
  }

  /** Refuses a request in its turn, because a client with a quick refusal retries sooner. */
  refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#waiting.push({ request, response, until: 0 })
    this.#turnEnds ??= this.#beginTurn(performance.now())
  }

  #refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#refusals.add('there are more than the host can answer in time')
    respondProblem(busy(), request, response, !response.shouldKeepAlive)
  }

  /** Begins all waiting requests and every later one at once: the process is stopping. */
  open(): void {
    this.#isOpen = true
    for (const { request, response } of this.#waiting.splice(0)) this.#begin(request, response)
  }

  #hasRoom(now: number): boolean {
    if (this.#hasAccepted && now < (this.#acceptsUntil ?? now)) return false
    if (this.#begunInTurn >= TURN.requests || now >= (this.#turnEnds ?? now)) return false
    return this.#working < this.#options.maxRequests
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#working += 1
    this.#begunInTurn += 1
    let isWorking = true
    const end = () => {
      if (!isWorking) return
      isWorking = false
      this.#working -= 1
      if (this.#waiting.length > 0) this.#turnEnds ??= this.#beginTurn(performance.now())
    }
    if (response instanceof Response) response.onHead = end
    // Also covers a client that disconnects before the response.
    response.once('close', end)
    this.#options.listener(request, response)
  }

  #beginTurn(now: number): number {
    setImmediate(() => this.#nextTurn())
    return now + TURN.milliseconds
  }

  #nextTurn(): void {
    this.#turnEnds = undefined
    this.#begunInTurn = 0
    clearTimeout(this.#timer)
    let now = performance.now()
    const isAccepting = this.#hasAccepted && now < (this.#acceptsUntil ?? now)
    this.#hasAccepted = false
    if (isAccepting) {
      if (this.#waiting.length > 0) this.#turnEnds = this.#beginTurn(now)
      return
    }
    this.#acceptsUntil = undefined
    if (this.#waiting.length === 0) return
    this.#turnEnds = now + TURN.milliseconds
    let done = 0
    for (const { request, response, until } of this.#waiting) {
      if (request.socket.destroyed) {
        // The client has disconnected.
      } else if (now > until) {
        this.#refuse(request, response)
      } else if (this.#hasRoom(now)) {
        this.#begin(request, response)
      } else {
        break
      }
      done += 1
      now = performance.now()
    }
    this.#waiting.splice(0, done)
    this.#turnEnds = undefined
    if (this.#waiting.length === 0) return
    if (this.#working < this.#options.maxRequests) this.#turnEnds = this.#beginTurn(now)
    else this.#timer = setTimeout(() => this.#nextTurn(), LOOK_INTERVAL).unref()
  }
}
