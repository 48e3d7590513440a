import {
  createServer as createHttpServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { Admission, Response } from './admission.ts'
import { Connections, type ConnectionsOptions } from './http-connections.ts'
import { lingeringClose } from './lingering-close.ts'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { checkHead } from './request-head.ts'
import { respondProblem } from './respond-problem.ts'
import { StalledResponses } from './stalled-responses.ts'

export interface ServerOptions extends ConnectionsOptions {
  /** Handles every well-formed request after its admission. */
  readonly listener: RequestListener
  /** Requests in progress at a time. */
  readonly maxRequests: number
  /** Prefix of every path; '' for none. */
  readonly basePath?: string
  /** After about how many milliseconds a response is ended if its client reads nothing. */
  readonly patience?: number
}

const PATIENCE = 10_000
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
  const { listener, maxConnections, maxRequests, basePath = '', patience = PATIENCE } = options
  const admission = new Admission({ listener, maxRequests, maxWaiting: maxConnections })
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
    else if (excess === 'all') admission.refuse(request, response)
    else admission.take(request, response)
  }

  const server = createHttpServer(
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
    const problem = hostProblems.create(
      'expectation-failed',
      'The only expectation known here is 100-continue.',
    )
    respondProblem(problem, request, response)
  })

  // Reads a body after the head is checked. Node also reads, and drops, what follows the response.
  server.on('checkContinue', (request, response) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue()
    })
    admit(request, response)
  })

  const admitLast = (request: IncomingMessage, socket: Socket) => {
    const response = new ServerResponse(request)
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
    const request = Object.assign(new IncomingMessage(socket), { method: 'CONNECT', url, httpVersion: '1.0' })
    admitLast(request, socket)
  }
  server.on('clientError', (error, socket) => refuseConnection(error, socket as Socket, refuseMethod))
  return { server, admission, connections, stalled }
}
