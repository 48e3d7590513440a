import type { IncomingMessage, RequestListener } from 'node:http'
import { RecentRefusals } from '@mortise/storage'
import { ModuleShares, PATIENCE } from './module-shares.ts'
import { Place, type Response } from './place.ts'
import { respondProblem } from './send-problem.ts'
import { busy } from './too-many.ts'

export interface AdmissionOptions {
  /** Handles every well-formed request after its admission. */
  readonly listener: RequestListener
  /** Requests in progress at a time, without those whose response has begun, such as streams. */
  readonly maxRequests: number
  /** How many of them the routes of one module may have; by default three quarters. */
  readonly maxRequestsPerModule?: number | undefined
  /** So many requests wait at most. */
  readonly maxConnections: number
}

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
/** The part of the requests in progress that one module may have. */
const SHARE = 0.75
/** How often waiting requests are checked while none can begin, in milliseconds. */
const LOOK_INTERVAL = 50

interface Waiting {
  readonly request: IncomingMessage
  readonly response: Response<IncomingMessage>
  /** The end of its wait, on the clock of `performance`. */
  readonly until: number
}

/**
 * Keeps a process responsive under any load: it limits the requests in progress, queues the next
 * ones in order, one for each connection at most, and refuses those that waited for a second (503).
 * With an empty queue a request begins at once.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #refusals = new RecentRefusals()
  readonly modules: ModuleShares
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
    const { maxRequests, maxRequestsPerModule = Math.ceil(maxRequests * SHARE) } = options
    this.modules = new ModuleShares(maxRequestsPerModule, (reason) => this.#refusals.add(reason))
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

  take(request: IncomingMessage, response: Response<IncomingMessage>): void {
    const now = performance.now()
    this.#turnEnds ??= this.#beginTurn(now)
    if (this.#isOpen || (this.#waiting.length === 0 && this.#hasRoom(now))) {
      this.#begin(request, response)
    } else if (this.#waiting.length < this.#options.maxConnections) {
      this.#waiting.push({ request, response, until: now + PATIENCE })
    } else {
      this.#refuse(request, response)
    }
  }

  /**
   * Refuses a request in its turn, because a client with a quick refusal retries sooner.
   * @param atOnce does not wait for its turn
   */
  refuse(request: IncomingMessage, response: Response<IncomingMessage>, atOnce: boolean): void {
    if (atOnce) {
      this.#refuse(request, response)
    } else {
      this.#waiting.push({ request, response, until: 0 })
      this.#turnEnds ??= this.#beginTurn(performance.now())
    }
  }

  #refuse(request: IncomingMessage, response: Response<IncomingMessage>): void {
    this.#refusals.add('the host is overloaded')
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

  #begin(request: IncomingMessage, response: Response<IncomingMessage>): void {
    this.#begunInTurn += 1
    response.take(new Place(this))
    this.#options.listener(request, response)
  }

  /** Of requests in progress: one more, or one less. */
  count(change: 1 | -1): void {
    this.#working += change
    if (change < 0 && this.#waiting.length > 0) this.#turnEnds ??= this.#beginTurn(performance.now())
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
