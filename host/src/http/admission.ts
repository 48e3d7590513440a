import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { RecentRefusals } from '@mortise/storage'
import { discardBody } from './discard-body.ts'
import { respondProblem } from './respond-problem.ts'
import { busy } from './too-many.ts'

/** How many requests begin in a turn of the event loop, as many as a commit has, and for how many milliseconds. */
const TURN = { requests: 128, milliseconds: 50 }
/** For how long none begins while connections come, in milliseconds: libuv accepts one in a turn, so turns are short then. */
const ACCEPTING = 50
/** For how long a request may wait for its beginning, in milliseconds. */
const PATIENCE = 1_000
/** How often those that wait are looked at while none can begin, in milliseconds. */
const LOOK_INTERVAL = 50

export interface AdmissionOptions {
  /** Takes a request that begins. */
  readonly listener: RequestListener
  /** How many requests are worked on at once. One whose answer has begun is not: a stream, say. */
  readonly maxRequests: number
  /** How many more wait. */
  readonly maxWaiting: number
}

/** An answer that tells when its head is sent, and leaves the rest of a body that it does not wait for. */
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
  /** Until when it waits, in the time of `performance`. */
  readonly until: number
}

/**
 * Keeps a process answering under any load: it works on so many requests at once, the next ones wait in order, and those
 * that have waited for a second are refused (503). Where nothing waits, a request begins at once.
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #refusals = new RecentRefusals()
  #working = 0
  #waiting: Waiting[] = []
  /** Until when this turn begins requests; undefined before the first. */
  #turnEnds: number | undefined
  #begunInTurn = 0
  #timer: NodeJS.Timeout | undefined
  /** Whether a connection came in this turn. */
  #hasAccepted = false
  /** Until when connections go first. */
  #acceptsUntil: number | undefined
  #isOpen = false

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** Why requests were refused lately; undefined while all are taken. */
  get refusal(): string | undefined {
    return this.#refusals.reason
  }

  /** How many were refused. */
  get refused(): number {
    return this.#refusals.count
  }

  /** A connection has come: there may be more, and a health probe among them. */
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

  /** Refuses a request, when its turn comes: who is answered sooner comes again sooner. */
  refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#waiting.push({ request, response, until: 0 })
    this.#turnEnds ??= this.#beginTurn(performance.now())
  }

  #refuse(request: IncomingMessage, response: ServerResponse): void {
    this.#refusals.add('there are more than the host can answer in time')
    respondProblem(busy(), request, response, !response.shouldKeepAlive)
  }

  /** Begins all that wait, and from now on whatever comes: the process ends. */
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
    // Whoever goes away before the answer.
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
        // Nobody waits for it.
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
