import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import { RecentRefusals } from '@mortise/storage'
import { http } from '../config/node-http.ts'
import { discardBody, lingeringClose } from './discard-body.ts'
import { Connections, type ConnectionsOptions } from './http-connections.ts'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { checkHead } from './request-head.ts'
import { respondProblem } from './send-problem.ts'
import { StalledResponses } from './stalled-responses.ts'
import { busy, moduleBusy } from './too-many.ts'

export interface ServerOptions extends ConnectionsOptions {
  /** Handles every well-formed request after its admission. */
  readonly listener: RequestListener
  /** Requests in progress at a time, without those whose response has begun, such as streams. */
  readonly maxRequests: number
  /** How many of them the routes of one module may have; by default three quarters. */
  readonly maxRequestsPerModule?: number | undefined
  /**
   * The signed-in caller of a request, who may use connections beyond the limit for all; undefined
   * for others.
   */
  readonly signedInCaller?: ((headers: IncomingHttpHeaders) => Promise<string | undefined>) | undefined
  /** Prefix of every path; '' for none. */
  readonly basePath?: string
  /** After about how many milliseconds a response is ended if its client reads nothing. */
  readonly patience?: number
}

/** How long a response waits for a client that reads nothing, in milliseconds. */
const STALLED = 10_000
/**
 * How long a connection may be idle between requests, in milliseconds. While all connections are
 * taken, `Keep-Alive` carries the shorter time.
 */
const KEEP_ALIVE = 10_000
const FULL_KEEP_ALIVE = 2_000

/**
 * The one http.Server of the process. It outlives the Fastify instances behind `listener`. It sends
 * a problem in the cases in which Node would send less or drop the request: malformed HTTP, an
 * ambiguous head, an unknown Expect, CONNECT. It ignores `Upgrade`, as RFC 9110 allows.
 */
export function createServer(options: ServerOptions): {
  server: Server
  admission: Admission
  connections: Connections
  stalled: StalledResponses
} {
  const { listener, basePath = '', patience = STALLED, signedInCaller = async () => undefined } = options
  const admission = new Admission(options)
  const connections = new Connections(options)
  const isHealth = ({ url = '' }: IncomingMessage) => url.startsWith(`${basePath}/health/`)

  const admit: RequestListener = (request, response) => {
    const excess = connections.excess.get(request.socket)
    if (excess !== undefined) {
      connections.ask(request.socket)
      response.shouldKeepAlive = false
    }
    const problem = checkHead(request)
    if (problem) respondProblem(problem, request, response)
    else if (isHealth(request)) listener(request, response)
    else if (excess === 'share') respondProblem(connections.refusal(request.socket), request, response)
    else if (excess === 'all') admitBeyondAll(request, response)
    else admission.take(request, response)
  }

  const admitBeyondAll: RequestListener = async (request, response) => {
    const caller = await signedInCaller(request.headers)
    if (caller !== undefined && connections.takeReserve(caller, response)) admission.take(request, response)
    else admission.refuse(request, response, connections.isCrowded)
  }

  const server = http.createServer(
    {
      ServerResponse: Response,
      requireHostHeader: false,
      maxHeaderSize: 8 * 1024,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      // Without it a slow body lasts four times requestTimeout.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: KEEP_ALIVE,
    },
    admit,
  )
  // A head of 8 KiB has room for more than Node's limit of 2,000, and headers beyond it would go
  // unchecked.
  server.maxHeadersCount = 0
  server.maxConnections = connections.most
  server.on('connection', (socket) => {
    // An address over its limit sends nothing urgent.
    if (connections.take(socket) !== 'share') admission.accepted()
    server.keepAliveTimeout = connections.isFull ? FULL_KEEP_ALIVE : KEEP_ALIVE
  })
  const stalled = new StalledResponses(connections, patience)
  server.once('close', () => stalled.stop())

  server.on('checkExpectation', (request, response) => {
    respondProblem(hostProblems.create('expectation-failed'), request, response)
  })

  // Reads a body after the head is checked. Node also reads, and drops, what follows the response.
  server.on('checkContinue', (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    admit(request, response)
  })

  const admitLast = (request: IncomingMessage, socket: Socket) => {
    const response = new Response(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => lingeringClose(socket))
    socket.on('error', () => socket.destroy())
    admit(request, response)
  }
  // For the routes CONNECT is one more unknown method.
  server.on('connect', (request, socket) => admitLast(request, socket as Socket))
  // A method unknown to the parser. Its headers are not parsed; HTTP/1.0 needs none.
  const refuseMethod = (url: string, socket: Socket) => {
    const request = Object.assign(new http.IncomingMessage(socket), {
      method: 'CONNECT',
      url,
      httpVersion: '1.0',
    })
    admitLast(request, socket)
  }
  server.on('clientError', (error, socket) => refuseConnection(error, socket as Socket, refuseMethod))
  return { server, admission, connections, stalled }
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
/** How long a request may wait to begin, in milliseconds. */
const PATIENCE = 1_000
/** The part of the requests in progress that one module may have. */
const SHARE = 0.75
/** How often waiting requests are checked while none can begin, in milliseconds. */
const LOOK_INTERVAL = 50

/** A response that reports when its head is sent, and drops the unread rest of a request body. */
class Response<Request extends IncomingMessage> extends http.ServerResponse<Request> {
  place: Place | undefined

  // biome-ignore lint/suspicious/noExplicitAny: it has two signatures
  override writeHead(...args: any): this {
    if (!this.req.complete) discardBody(this)
    super.writeHead(...(args as [number]))
    this.place?.end()
    return this
  }
}

/**
 * The place of a request among those in progress. It ends when the head of the response is sent, or
 * the connection closes.
 */
class Place {
  readonly #admission: Admission
  /** Called at its end. */
  onEnd: (() => void) | undefined
  isOver = false
  #isPaused = false

  constructor(admission: Admission) {
    this.#admission = admission
    admission.count(1)
  }

  /** Calls `next` when the module of the request has a place for it: see `ModuleShares`. */
  enter(module: string, next: (problem?: Problem) => void): void {
    this.#admission.modules.enter(module, this, next)
  }

  /** Gives the place to other requests until `resume`. */
  pause(): void {
    this.#isPaused = true
    this.#admission.count(-1)
  }

  resume(): void {
    this.#isPaused = false
    this.#admission.count(1)
  }

  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.onEnd?.()
    if (!this.#isPaused) this.#admission.count(-1)
  }
}

/** A response of the server. One of `inject` has no place. */
export interface Placed {
  readonly place?: Pick<Place, 'enter'> | undefined
}

interface Share {
  working: number
  readonly waiting: Set<WaitingPlace>
}

interface WaitingPlace {
  readonly place: Place
  readonly begin: () => void
}

/**
 * Keeps a slow module from taking all places of the process. A request beyond the share of its module
 * waits in order, without a place, and is refused after a second.
 */
class ModuleShares {
  readonly #most: number
  readonly #onRefused: (reason: string) => void
  readonly #shares = new Map<string, Share>()

  /** @param most requests of one module at a time */
  constructor(most: number, onRefused: (reason: string) => void) {
    this.#most = most
    this.#onRefused = onRefused
  }

  /** The requests of a module in progress. */
  working(module: string): number {
    return this.#shares.get(module)?.working ?? 0
  }

  /** @param next called at once, or in its turn; with a problem if the request is refused */
  enter(module: string, place: Place, next: (problem?: Problem) => void): void {
    if (place.isOver) {
      next()
      return
    }
    const share = this.#shares.get(module) ?? { working: 0, waiting: new Set() }
    this.#shares.set(module, share)
    if (share.working < this.#most) {
      this.#begin(share, place)
      next()
      return
    }
    place.pause()
    const timer = setTimeout(() => {
      share.waiting.delete(waiting)
      if (!place.isOver) this.#onRefused(`${module} has ${this.#most} requests in progress, its share`)
      next(moduleBusy(module))
    }, PATIENCE).unref()
    const waiting = {
      place,
      begin: () => {
        clearTimeout(timer)
        place.resume()
        this.#begin(share, place)
        next()
      },
    }
    share.waiting.add(waiting)
  }

  #begin(share: Share, place: Place): void {
    share.working += 1
    place.onEnd = () => {
      share.working -= 1
      for (const waiting of share.waiting) {
        share.waiting.delete(waiting)
        // One whose client has left ends by its timer.
        if (waiting.place.isOver) continue
        waiting.begin()
        return
      }
    }
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
 * ones in order, one for each connection at most, and refuses those that waited for a second (503).
 * With an empty queue a request begins at once.
 */
export class Admission {
  readonly #options: ServerOptions
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

  constructor(options: ServerOptions) {
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

  take(request: IncomingMessage, response: ServerResponse): void {
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
  refuse(request: IncomingMessage, response: ServerResponse, atOnce: boolean): void {
    if (atOnce) {
      this.#refuse(request, response)
    } else {
      this.#waiting.push({ request, response, until: 0 })
      this.#turnEnds ??= this.#beginTurn(performance.now())
    }
  }

  #refuse(request: IncomingMessage, response: ServerResponse): void {
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

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#begunInTurn += 1
    const place = new Place(this)
    if (response instanceof Response) response.place = place
    // Also covers a client that disconnects before the response.
    response.on('close', () => place.end())
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
