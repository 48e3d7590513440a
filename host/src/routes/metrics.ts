import { AddressList } from '@mortise/module-sdk'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { bearerToken, insufficientScope, signInNeeded } from '../callers/bearer.ts'
import type { TokenVerifier } from '../callers/token-verifier.ts'
import { assertTagged } from '../http/conditional-requests.ts'
import { isForwarded } from '../http/forwarded.ts'
import { type MetricFamily, textFormat, toText } from '../telemetry/prometheus-format.ts'

export interface MetricsOptions {
  /** All metrics of the application. */
  readonly read: () => Promise<readonly MetricFamily[]>
  /** Addresses and CIDR ranges that need no token. */
  readonly allow: readonly string[]
  readonly tokens: TokenVerifier
}

const SCOPE = 'metrics:read'

/** In Prometheus' text format; from the allowed addresses, or with `metrics:read`. */
export const metrics = fp<MetricsOptions>(async (app, { read, allow, tokens }) => {
  const allowed = new AddressList(allow)
  app.get(
    '/metrics',
    {
      config: { access: 'public', unlimited: true },
      schema: { hide: true },
      onRequest: async (request) => {
        if (!isAllowed(request, allowed)) await assertScope(request, tokens)
      },
    },
    async (request, reply) => {
      assertTagged(request, reply)
      reply.type(textFormat).header('cache-control', 'no-store')
      return toText(await read())
    },
  )
})

const isAllowed = ({ raw: { socket, headers } }: FastifyRequest, allowed: AddressList) =>
  !isForwarded(headers) && allowed.has(socket.remoteAddress ?? '')

async function assertScope({ headers }: FastifyRequest, tokens: TokenVerifier): Promise<void> {
  if (headers.authorization === undefined) throw signInNeeded(SCOPE)
  const user = await tokens.verify(bearerToken(headers.authorization))
  if (!user.has(SCOPE)) throw insufficientScope(SCOPE)
}
