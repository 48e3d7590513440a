import {
  createServer as createHttpServer,
  type RequestListener,
  type Server,
  ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'
import { hostProblems } from './problems.ts'
import { refuseConnection } from './refuse-connection.ts'
import { respondProblem } from './respond-problem.ts'

export interface ServerOptions {
  /** Takes every request that is well-formed. */
  readonly listener: RequestListener
  readonly maxConnections: number
}

/**
 * The one http.Server of the process. It outlives the Fastify instances behind `listener`, and answers with
 * a problem what Node would answer with less, or drop: malformed HTTP, no Host, an unknown Expect, CONNECT.
 * `Upgrade` is ignored, as RFC 9110 allows.
 */
export function createServer({ listener, maxConnections }: ServerOptions): Server {
  const server = createHttpServer(
    {
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
        listener(request, response)
      }
    },
  )
  server.maxConnections = maxConnections

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
    listener(request, response)
  })

  server.on('clientError', refuseConnection)
  return server
}
