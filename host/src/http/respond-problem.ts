import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '@mortise/module-sdk'
import { constantHeaders, requestId } from './head.ts'

/**
 * Responds to a request that never reaches Fastify.
 * @param close closes the connection; otherwise Node reads the rest of the body and drops it
 */
export function respondProblem(
  problem: Problem,
  request: IncomingMessage,
  response: ServerResponse,
  close = true,
): void {
  const id = requestId(request)
  if (close) response.shouldKeepAlive = false
  const body = Buffer.from(JSON.stringify(problem.toDetails(id)))
  response.writeHead(problem.status, {
    'content-type': 'application/problem+json',
    'content-length': body.length,
    'request-id': id,
    ...problem.headers,
    ...constantHeaders,
  })
  response.end(body)
}
