import { BlockList, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { bearerToken, insufficientScope, signInNeeded } from '../callers/bearer.ts'
import type { TokenVerifier } from '../callers/tokens.ts'
import { type MetricFamily, textFormat, toText } from '../metrics/metric-family.ts'

export interface MetricsOptions {
  /** All figures of the application. */
  readonly read: () => Promise<readonly MetricFamily[]>
  /** Addresses and CIDR ranges that need no token. */
  readonly allow: readonly string[]
  readonly tokens: TokenVerifier
}

const SCOPE = 'metrics:read'

/** What a proxy says about whom it forwards for: then the connection's own address tells nothing of the caller. */
const forwarding = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']

/**
 * `GET /metrics`, in Prometheus' text format: for connections from the allowed addresses, and for tokens with the
 * scope `metrics:read`.
 */
export const metrics = fp<MetricsOptions>(
  async (app, { read, allow, tokens }) => {
    const allowed = addressList(allow)
    app.get(
      '/metrics',
      {
        config: { access: 'public', unlimited: true },
        schema: { hide: true },
        onRequest: async (request) => {
          if (!isAllowed(request, allowed)) await assertScope(request, tokens)
        },
      },
      async (_request, reply) => {
        reply.type(textFormat).header('cache-control', 'no-store')
        return toText(await read())
      },
    )
  },
  { name: 'metrics', fastify: '5.x' },
)

function addressList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}

function isAllowed({ raw: { socket, headers } }: FastifyRequest, allowed: BlockList): boolean {
  if (forwarding.some((name) => headers[name] !== undefined)) return false
  const { remoteAddress = '' } = socket
  return allowed.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4')
}

async function assertScope({ headers }: FastifyRequest, tokens: TokenVerifier): Promise<void> {
  if (headers.authorization === undefined) throw signInNeeded(SCOPE)
  const user = await tokens.verify(bearerToken(headers.authorization))
  if (!user.has(SCOPE)) throw insufficientScope(SCOPE)
}
