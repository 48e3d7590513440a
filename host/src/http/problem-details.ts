import { ProblemDetails } from '@mortise/module-sdk'
import fp from 'fastify-plugin'
import { sendProblem } from './send-problem.ts'
import { toProblem } from './to-problem.ts'

/** Answers whatever a request throws with problem details (RFC 9457), and logs what is the server's fault. */
export const problemDetails = fp(
  async (app) => {
    app.addSchema(ProblemDetails)
    app.setErrorHandler((error, request, reply) => {
      const problem = toProblem(error)
      if (problem.code === 'internal-error') request.log.error({ err: error }, 'a request failed')
      // Fastify closes the connection of a body that it gave up reading; a reset then overtakes the answer.
      // Node reads the rest and drops it, within the request's own timeout.
      if (!request.raw.complete) reply.removeHeader('connection')
      return sendProblem(problem, reply)
    })
  },
  { name: 'problem-details', fastify: '5.x' },
)
