import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { Admission, Response } from './admission.ts'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { respondProblem } from './respond-problem.ts'

export interface ServerOptions {
  /** Takes every request that is well-formed, once it is admitted. */
  readonly listener: RequestListener
  readonly maxConnections: number
  /** How many requests are worked on at once. */
  readonly maxRequests: number
  /** In front of every path; '' for none. */
  readonly basePath?: string
}

/** How many connections beyond `maxConnections` are taken, for `/health/*` alone. */
const spareConnections = (maxConnections: number) => Math.min(50, Math.ceil(maxConnections / 10))
/** How long such a connection may stay, in milliseconds. */
const SPARE_TIME = 2_000

/**
 * The one http.Server of the process. It outlives the Fastify instances behind `listener`, and answers with
 * a problem what Node would answer with less, or drop: malformed HTTP, no Host, an unknown Expect, CONNECT.
 * `Upgrade` is ignored, as RFC 9110 allows.
 */
export function createServer(options: ServerOptions): { server: Server; admission: Admission } {
  const { listener, maxConnections, maxRequests, basePath = '' } = options
  const admission = new Admission({ listener, maxRequests, maxWaiting: maxConnections })
  /** Each with the timer that ends it, should no request come. */
  const spare = new WeakMap<Socket, NodeJS.Timeout>()
  const isHealth = ({ url = '' }: IncomingMessage) => url.startsWith(`${basePath}/health/`)

  const admit: RequestListener = (request, response) => {
    const timer = spare.get(request.socket)
    const isSpare = timer !== undefined
    if (isSpare) {
      clearTimeout(timer)
      response.shouldKeepAlive = false
    }
    if (isHealth(request)) listener(request, response)
    else if (isSpare) admission.refuse(request, response)
    else admission.take(request, response)
  }

  const server = createHttpServer(
    {
      ServerResponse: Response,
      requireHostHeader: false,
      maxHeaderSize: 8 * 1024,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      // Without it a slow body outlives requestTimeout fourfold.
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 10_000,
    },
    (request, response) => {
      if (request.headers.host === undefined && request.httpVersion === '1.1') {
        respondProblem(
          hostProblems.create('invalid-request', 'The request has no Host header.'),
          request,
          response,
        )
      } else {
        admit(request, response)
      }
    },
  )
  server.maxConnections = maxConnections + spareConnections(maxConnections)
  let connections = 0
  server.on('connection', (socket) => {
    connections += 1
    admission.accepted()
    socket.once('close', () => {
      connections -= 1
    })
    if (connections <= maxConnections) return
    const timer = setTimeout(() => socket.destroy(), SPARE_TIME).unref()
    spare.set(socket, timer)
    socket.once('close', () => clearTimeout(timer))
  })

  server.on('checkExpectation', (request, response) => {
    const problem = hostProblems.create(
      'expectation-failed',
      'The only expectation known here is 100-continue.',
    )
    respondProblem(problem, request, response)
  })

  // To the routes CONNECT is one more method that they do not have.
  server.on('connect', (request, socket) => {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket as Socket)
    response.once('finish', () => (socket as Socket).destroySoon())
    socket.on('error', () => socket.destroy())
    admit(request, response)
  })

  server.on('clientError', refuseConnection)
  return { server, admission }
}
