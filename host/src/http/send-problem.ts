import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'

/** Answers a problem. */
export function sendProblem(problem: Problem, reply: FastifyReply): FastifyReply {
  return reply.send(writeProblem(problem, reply))
}

/**
 * Makes the reply that of a problem, all but sent, and answers its body. Bytes rather than an object, since a route's
 * response schema would drop the members that it does not know, and rather than a string, to which Fastify would add a
 * charset that this media type does not have.
 */
export function writeProblem(problem: Problem, reply: FastifyReply): Buffer {
  const { id } = reply.request
  reply
    .code(problem.status)
    .headers({ ...problem.headers, 'request-id': id })
    .type('application/problem+json')
  return Buffer.from(JSON.stringify(problem.toDetails(id)))
}
