import { Type } from '@sinclair/typebox'
import fp from 'fastify-plugin'
import { hostProblems } from '../http/problems.ts'

export interface HealthOptions {
  /** The reason why the application cannot serve now, a sentence; undefined while it can. */
  readonly notReady?: (() => string | undefined) | undefined
  /** The modules in quarantine. */
  readonly quarantined?: readonly string[]
}

const Healthy = Type.Object({ status: Type.Literal('ok') }, { title: 'Healthy' })
const Ready = Type.Object(
  {
    status: Type.Literal('ok'),
    quarantined: Type.Optional(
      Type.Array(Type.String(), { description: 'the modules that do not serve, since they ended the host' }),
    ),
  },
  { title: 'Ready' },
)
const config = { access: 'public', unlimited: true } as const
const headers = { 'cache-control': 'no-store' }

/** Liveness and readiness. The reason for unreadiness is logged where it begins. */
export const health = fp<HealthOptions>(async (app, { notReady, quarantined = [] }) => {
  app.get(
    '/health/live',
    { config, schema: { summary: 'Whether the process is alive', response: { 200: Healthy } } },
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
      const reason = notReady?.()
      // Probes every second would fill the log.
      reply.refused = true
      if (reason !== undefined) throw hostProblems.create('not-ready', reason)
      return { status: 'ok', ...(quarantined.length > 0 && { quarantined: [...quarantined] }) }
    },
  )
})
