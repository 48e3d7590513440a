import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RecentRefusals } from '@mortise/storage'
import { http } from '../config/node-http.ts'
import { discardBody, lingeringClose } from './discard-body.ts'
import { Connections, type ConnectionsOptions } from './http-connections.ts'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { checkHead } from './request-head.ts'
import { respondProblem } from './send-problem.ts'
import { StalledResponses } from './stalled-responses.ts'
import { busy } from './too-many.ts'

export interface ServerOptions extends ConnectionsOptions {
  /** Handles every well-formed request after its admission. */
  readonly listener: RequestListener
  /** Requests in progress at a time, without those whose response has begun, such as streams. */
  readonly maxRequests: number
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
/** How often waiting requests are checked while none can begin, in milliseconds. */
const LOOK_INTERVAL = 50

/** A response that reports when its head is sent, and drops the unread rest of a request body. */
class Response<Request extends IncomingMessage> extends http.ServerResponse<Request> {
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
 * ones in order, one for each connection at most, and refuses those that waited for a second (503).
 * With an empty queue a request begins at once.
 */
export class Admission {
  readonly #options: ServerOptions
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

  constructor(options: ServerOptions) {
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
    response.on('close', end)
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
