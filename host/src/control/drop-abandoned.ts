import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/**
 * Drops requests that their clients have given up: a process that was stopped finds such requests
 * when it continues.
 */
export function dropAbandoned(control: FastifyInstance): void {
  control.addHook('preHandler', async ({ raw: { socket } }, reply) => {
    // The end of a connection is read in the next turn of the event loop.
    await setImmediate()
    await setImmediate()
    if (!socket.destroyed && !socket.readableEnded) return
    reply.hijack()
    socket.destroy()
  })
}
