import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { Admission, type AdmissionOptions } from './admission.ts'
import { lingeringClose } from './discard-body.ts'
import { Connections, type ConnectionsOptions } from './http-connections.ts'
import { LongResponses } from './long-responses.ts'
import { http } from './node-http.ts'
import { Response } from './place.ts'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { checkHead } from './request-head.ts'
import { respondProblem } from './send-problem.ts'
import { StalledResponses } from './stalled-responses.ts'

export interface ServerOptions extends ConnectionsOptions, AdmissionOptions {
  /**
   * The signed-in caller of a request, who may use connections beyond the limit for all; undefined
   * for others.
   */
  readonly signedInCaller?: ((headers: IncomingHttpHeaders) => Promise<string | undefined>) | undefined
  /** Prefix of every path; '' for none. */
  readonly basePath?: string
  /** After about how many milliseconds a response is ended if its client reads nothing. */
  readonly patience?: number
  /** Milliseconds between the checks for responses that stay open: see `LongResponses`. */
  readonly lookInterval?: number
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

  const admit = (request: IncomingMessage, response: Response<IncomingMessage>) => {
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

  const admitBeyondAll = async (request: IncomingMessage, response: Response<IncomingMessage>) => {
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
  const long = new LongResponses(connections, options.lookInterval)
  server.once('close', () => {
    stalled.stop()
    long.stop()
  })

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
