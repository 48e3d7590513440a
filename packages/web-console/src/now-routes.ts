import type { ModuleContext, ModuleInstance } from '@mortise/module-sdk'
import { responses } from './module.ts'
import { PassedOn } from './passed-on.ts'
import { EVERY, type Ring, type Sample } from './ring.ts'
import type { Parts } from './session-routes.ts'

const Samples = PassedOn<{ every: number; samples: readonly Sample[] }>('every: seconds between samples')

/** The metrics of the last hour, and what samples them while the module serves. */
export function nowRoutes(
  app: ModuleInstance,
  { sessions, operator }: Parts,
  ring: Ring,
  { isServing, retiring, log }: Pick<ModuleContext, 'isServing' | 'retiring' | 'log'>,
): void {
  const sample = () =>
    operator.metrics().then(
      (metrics) => ring.add(metrics, Date.now()),
      (error) => log.debug(error, 'the metrics cannot be read'),
    )
  if (isServing) {
    const timer = setInterval(sample, EVERY * 1000).unref()
    const stop = () => clearInterval(timer)
    retiring.addEventListener('abort', stop)
    app.addHook('onReady', async () => void sample())
    app.addHook('onClose', async () => stop())
  }
  app.get(
    '/console/now',
    {
      config: { access: 'public' },
      schema: {
        hide: true,
        summary: 'The metrics of the last hour',
        response: { 200: Samples, ...responses('not-signed-in') },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      await sessions.of(request)
      return { every: EVERY, samples: ring.samples }
    },
  )
}
