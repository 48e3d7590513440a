import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { EventStream } from './event-stream.ts'

/** Answers with a stream. The host ends it, as any answer, where its reader takes nothing of it. */
export function sendStream(reply: FastifyReply, stream: EventStream): FastifyReply {
  // Whatever was answered: a problem in its place, say.
  reply.raw.once('close', () => stream.destroy())
  return send(reply, stream)
}

/** What GET would answer, without the stream. */
export function sendHead(reply: FastifyReply): FastifyReply {
  return send(reply, Readable.from([]))
}

/** Proxies neither keep it, nor wait for more of it. */
function send(reply: FastifyReply, stream: Readable): FastifyReply {
  return reply.headers({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }).send(stream)
}
