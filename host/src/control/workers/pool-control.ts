import fastify, { type FastifyInstance } from 'fastify'
import { type Operation, RefusedError } from '../operation.ts'
import { operations } from '../operations.ts'
import { byOne, type ControlRequest, type Pool } from '../pool.ts'

/** The control server for several processes. */
export function createPoolControl(pool: Pool): FastifyInstance {
  const app = fastify()
  const all: Readonly<Record<string, Operation>> = operations
  app.setErrorHandler((error: Error, _request, reply) =>
    reply.code(error instanceof RefusedError ? 409 : 500).send({ reason: error.message }),
  )
  // Any path: the workers may run a newer host, with operations that this one does not know.
  app.route({
    method: ['GET', 'POST'],
    url: '*',
    async handler({ method, url, body }, reply) {
      const ask = all[url.slice(1)]?.inPool ?? byOne
      const answer = await ask(pool, { method, path: url, body } as ControlRequest)
      return reply.code(answer.status).send(answer.body)
    },
  })
  return app
}
