import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** How often a request in progress gets a sign of life, in milliseconds. */
const INTERVAL = 1_000

/**
 * Sends signs of life (`102 Processing`) until the response, and drops requests that their clients
 * have given up: a process that was stopped finds such requests when it continues.
 */
export function sendProgress(control: FastifyInstance): void {
  control.addHook('onRequest', async (_request, { raw }) => {
    const timer = setInterval(() => {
      if (raw.headersSent) clearInterval(timer)
      else raw.writeProcessing()
    }, INTERVAL)
    raw.once('close', () => clearInterval(timer))
  })
  control.addHook('preHandler', async ({ raw: { socket } }, reply) => {
    // The end of a connection is read in the next turn of the event loop.
    await setImmediate()
    await setImmediate()
    if (!socket.destroyed && !socket.readableEnded) return
    reply.hijack()
    socket.destroy()
  })
}
