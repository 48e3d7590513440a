import type { FastifyReply } from 'fastify'

/** Whether an answer goes on for as long as both sides like, so that the time it took says nothing. */
export function isStream(reply: FastifyReply): boolean {
  return reply.getHeader('content-type') === 'text/event-stream'
}
