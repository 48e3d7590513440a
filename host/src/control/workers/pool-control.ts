import fastify, { type FastifyInstance } from 'fastify'
import { gauge, type MetricFamily, mergeFamilies } from '../../telemetry/metric-family.ts'
import type { ControlAnswer, ControlRequest } from '../call-running-host.ts'
import type { ApplicationState } from '../control-server.ts'

/** The processes cannot be replaced; the message says why. */
export class RestartError extends Error {
  override readonly name = 'RestartError'
}

interface ControlledPool {
  askOne(request: ControlRequest): Promise<ControlAnswer | undefined>
  askAll(request: ControlRequest): Promise<ControlAnswer[]>
  state(): Promise<ApplicationState | undefined>
  readonly serving: number
  readonly silent: readonly number[]
  restart(): Promise<number>
}

const nobody: ControlAnswer = {
  status: 503,
  body: { reason: 'all processes have just ended, and are about to be replaced' },
}

/**
 * What `createControl` serves, for several processes: each has to take a change up, and any can do what is done to
 * the database.
 */
export function createPoolControl(pool: ControlledPool): FastifyInstance {
  const app = fastify()
  app.setErrorHandler((error: Error, _request, reply) =>
    reply.code(error instanceof RestartError ? 409 : 500).send({ reason: error.message }),
  )
  app.route({
    method: ['GET', 'POST'],
    url: '*',
    async handler({ method, url, body }, reply) {
      const { status, body: answered } = await ask(pool, { method, path: url, body } as ControlRequest)
      return reply.code(status).send(answered)
    },
  })
  return app
}

async function ask(pool: ControlledPool, request: ControlRequest): Promise<ControlAnswer> {
  switch (request.path) {
    case '/restart':
      return { status: 200, body: { workers: await pool.restart() } }
    case '/state': {
      const state = await pool.state()
      if (state !== undefined) return { status: 200, body: state }
      const [pid] = pool.silent
      return pid === undefined ? nobody : { status: 504, body: { reason: `process ${pid} is silent`, pid } }
    }
    case '/metrics': {
      const answers = await pool.askAll(request)
      const families = answers.filter(({ status }) => status === 200).map(({ body }) => body)
      const processes = gauge('mortise_workers', 'Processes of app start --workers, by state', 'max', [
        { labels: { state: 'serving' }, value: pool.serving - pool.silent.length },
        { labels: { state: 'silent' }, value: pool.silent.length },
      ])
      return { status: 200, body: [...mergeFamilies(families as MetricFamily[][]), processes] }
    }
    case '/activate':
    case '/settle': {
      // One that is silent reads the lock when it wakes, or its successor does.
      const all = await pool.askAll(request)
      const heard = all.filter(({ status }) => status !== 504)
      return heard.find(({ status }) => status !== 200) ?? heard[0] ?? all[0] ?? nobody
    }
    case '/retired': {
      const answers = await pool.askAll(request)
      return answers.find(({ status }) => status !== 200) ?? answers[0] ?? nobody
    }
    default:
      return (await pool.askOne(request)) ?? nobody
  }
}
