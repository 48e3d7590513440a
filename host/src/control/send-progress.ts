import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** How often a request that is being worked on is said to be so, in milliseconds. */
const INTERVAL = 1_000

/**
 * Has a control server say that it lives (`102 Processing`) until it answers, and do nothing for who has given up
 * meanwhile: a process that was stopped finds their requests when it wakes.
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
    // The end of a connection that is there already is read in the next turn of the event loop.
    await setImmediate()
    await setImmediate()
    if (!socket.destroyed && !socket.readableEnded) return
    reply.hijack()
    socket.destroy()
  })
}
