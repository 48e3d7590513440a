import type { Server } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/** How often it is told at most, in milliseconds. */
const INTERVAL = 60_000

/** Logs that connections are closed for being too many: the first at once, then how many there were, once a minute. */
export function tellDropped(server: Server, log: Pick<FastifyBaseLogger, 'warn'>, interval = INTERVAL): void {
  let dropped = 0
  let timer: NodeJS.Timeout | undefined
  const tell = () => {
    timer = undefined
    if (dropped === 0) return
    log.warn({ dropped }, `connections are closed at once: ${server.maxConnections} are open, the most`)
    dropped = 0
    timer = setTimeout(tell, interval).unref()
  }
  server.on('drop', () => {
    dropped += 1
    if (timer === undefined) tell()
  })
  server.once('close', () => clearTimeout(timer))
}
