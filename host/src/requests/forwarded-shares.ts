import fp from 'fastify-plugin'
import type { Shares } from '../http/limits/shares.ts'
import { tooManyAtOnce } from '../http/too-many.ts'
import { isOwn } from './rate-limit.ts'

export interface ForwardedSharesOptions {
  /** What each address has of connections, and of requests that a proxy forwards. */
  readonly shares: Shares | undefined
}

/**
 * Holds each address for which a trusted proxy forwards to its share: the proxy's connections are not limited, so its
 * requests are, from their head to the end of their answer.
 */
export const forwardedShares = fp<ForwardedSharesOptions>(
  async (app, { shares }) => {
    if (shares === undefined) return
    app.addHook('onRequest', (request, reply, done) => {
      const { ip, socket } = request
      // Without an address to forward for it is the proxy's own.
      if (ip === socket.remoteAddress || request.routeOptions.config.unlimited === true || isOwn(request))
        return done()
      const giveBack = shares.take(ip)
      if (giveBack === undefined) throw tooManyAtOnce(shares.most)
      reply.raw.once('close', giveBack)
      done()
    })
  },
  { name: 'forwarded-shares', fastify: '5.x' },
)
