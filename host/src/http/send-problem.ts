import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'
import { requestId } from './request-head.ts'
import { constantHeaders } from './security-headers.ts'

export function sendProblem(problem: Problem, reply: FastifyReply): FastifyReply {
  return reply.send(writeProblem(problem, reply))
}

/**
 * Prepares the reply for a problem, without sending it.
 * @returns the body: bytes, because a response schema would drop unknown members of an object, and
 * Fastify would add a charset to a string, which this media type does not have
 */
export function writeProblem(problem: Problem, reply: FastifyReply): Buffer {
  const { id } = reply.request
  reply
    .code(problem.status)
    .headers({ ...problem.headers, 'request-id': id })
    .type('application/problem+json')
  return Buffer.from(JSON.stringify(problem.toDetails(id)))
}

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
