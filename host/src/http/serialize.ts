import type { FastifyReply } from 'fastify'

/** With the route's serializer for the status, found as Fastify finds it; as plain JSON where it has none. */
export function serialize(reply: FastifyReply, status: number, body: unknown): string {
  for (const key of [String(status), `${Math.trunc(status / 100)}xx`, 'default']) {
    const serializer = reply.getSerializationFunction(key)
    if (typeof serializer === 'function') return serializer(body as Record<string, unknown>)
  }
  return JSON.stringify(body)
}
