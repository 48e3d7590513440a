import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { EventStream } from './event-stream.ts'

/** Responds with a stream. The host ends it, like any response, if the client stops reading. */
export function sendStream(reply: FastifyReply, stream: EventStream): FastifyReply {
  // `close` also comes after another response, such as a problem.
  reply.raw.once('close', () => stream.destroy())
  return send(reply, stream)
}

/** The response headers of GET, without the stream. */
export function sendHead(reply: FastifyReply): FastifyReply {
  return send(reply, Readable.from([]))
}

/** Proxies must neither store nor buffer the response. */
function send(reply: FastifyReply, stream: Readable): FastifyReply {
  return reply.headers({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }).send(stream)
}
