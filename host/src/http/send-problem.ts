import type { Problem } from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'

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
