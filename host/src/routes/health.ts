import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { hostProblems } from '../http/problems.ts'

export interface HealthOptions {
  /** Why the application cannot serve now, in a sentence; undefined while it can. */
  readonly notReady: () => string | undefined
  /** How many processes beside this one do not answer; a load balancer need not leave out the others. */
  readonly silentWorkers?: (() => number) | undefined
}

const Healthy = Type.Object({ status: Type.Literal('ok') }, { title: 'Healthy' })
const Ready = Type.Object(
  { status: Type.Literal('ok'), silentWorkers: Type.Optional(Type.Integer({ minimum: 1 })) },
  { title: 'Ready' },
)
const config = { access: 'public', unlimited: true } as const
const headers = { 'cache-control': 'no-store' }

/** Whether the process lives, and whether it should be sent requests. Why not is logged where it begins. */
export const health = fp<HealthOptions>(
  async (app, { notReady, silentWorkers = () => 0 }) => {
    app.get(
      '/health/live',
      { config, schema: { summary: 'Whether the process lives', response: { 200: Healthy } } },
      async (_request, reply) => {
        reply.headers(headers)
        return { status: 'ok' }
      },
    )
    app.get(
      '/health/ready',
      {
        config,
        schema: {
          summary: 'Whether the application is ready for requests',
          response: { 200: Ready, ...hostProblems.responses('not-ready') },
        },
      },
      async (_request, reply) => {
        reply.headers(headers)
        const reason = notReady()
        // Who asks every second would fill the log.
        reply.refused = true
        if (reason !== undefined) throw hostProblems.create('not-ready', reason)
        return { status: 'ok', ...(silentWorkers() > 0 && { silentWorkers: silentWorkers() }) }
      },
    )
  },
  { name: 'health', fastify: '5.x' },
)
