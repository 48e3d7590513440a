import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'

/**
 * Answers a problem. Bytes rather than an object, since a route's response schema would drop the members
 * that it does not know, and rather than a string, to which Fastify would add a charset that this media
 * type does not have.
 */
export function sendProblem(problem: Problem, reply: FastifyReply): FastifyReply {
  const { id } = reply.request
  return reply
    .code(problem.status)
    .headers({ ...problem.headers, 'request-id': id })
    .type('application/problem+json')
    .send(Buffer.from(JSON.stringify(problem.toDetails(id))))
}
