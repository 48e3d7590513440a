import { endOf } from '@mortise/application'
import { currentTime } from '@mortise/module-sdk'
import fp from 'fastify-plugin'
import { hostProblems } from '../http/problems.ts'
import type { PausedModule, RegisteredModule } from './host-module.ts'

/** When to try again without a known end, in seconds. */
const LATER = 60

/**
 * Refuses the requests of paused modules before anything asks who calls, so that a body is not read
 * and a guest not made. Without a paused module it adds nothing to a request.
 */
export const refusePaused = fp<{ readonly modules: readonly RegisteredModule[] }>(
  async (app, { modules }) => {
    const paused = new Map(modules.flatMap((one) => (one.state === 'paused' ? [[one.id, one] as const] : [])))
    if (paused.size === 0) return
    app.addHook('onRequest', (request, reply, done) => {
      const module = paused.get(request.routeOptions.config.module ?? '')
      if (module === undefined) return done()
      // The log has the pause, and says nothing of each request.
      reply.refused = true
      done(pausedProblem(module))
    })
  },
)

function pausedProblem(module: PausedModule) {
  const { id, until } = module
  const rest = Math.ceil((endOf(module) - currentTime()) / 1000)
  const seconds = Number.isFinite(rest) ? Math.max(1, rest) : LATER
  const when = until === undefined ? 'for now' : `until ${until}`
  return hostProblems.create('module-paused', `The operator has paused ${id} ${when}: try again later.`, {
    headers: { 'retry-after': String(seconds) },
  })
}
