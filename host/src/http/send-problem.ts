import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requestId } from './request-head.ts'
import { constantHeaders } from './security-headers.ts'

interface ProblemResponse {
  readonly status: number
  readonly contentType: string
  readonly text: string
}

/** A problem in the form of the request's route: problem details (RFC 9457), unless it has its own. */
export function inFormOfRoute(problem: Problem, { id, routeOptions, log }: FastifyRequest): ProblemResponse {
  const details = problem.toDetails(id)
  const form = routeOptions.config?.problemForm
  if (form !== undefined) {
    try {
      const { status = problem.status, contentType = 'application/json', body } = form(details)
      if (!Number.isInteger(status) || status < 400 || status > 599)
        throw new RangeError(`problemForm returns the status ${status}: return one from 400 to 599`)
      return { status, contentType, text: JSON.stringify(body) }
    } catch (error) {
      log.error(error, 'problemForm of the route failed, so problem details are sent')
    }
  }
  return {
    status: problem.status,
    contentType: 'application/problem+json',
    text: JSON.stringify(details),
  }
}

export function sendProblem(problem: Problem, reply: FastifyReply): FastifyReply {
  return reply.send(writeProblem(problem, reply))
}

/**
 * Prepares the reply for a problem, without sending it.
 * @returns the body: bytes, because a response schema would drop unknown members of an object, and
 * Fastify would add a charset to a string, which this media type does not have
 */
export function writeProblem(problem: Problem, reply: FastifyReply): Buffer {
  const { status, contentType, text } = inFormOfRoute(problem, reply.request)
  // The file that the route would have sent.
  reply.removeHeader('content-disposition')
  reply
    .code(status)
    .headers({ ...problem.headers, 'request-id': reply.request.id })
    .type(contentType)
  return Buffer.from(text)
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
