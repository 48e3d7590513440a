import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { EventStream } from './event-stream.ts'

/**
 * Answers with a stream.
 *
 * @param patience after how many milliseconds, about, a reader is cut off that takes nothing of what waits for it
 */
export function sendStream(reply: FastifyReply, stream: EventStream, patience: number): FastifyReply {
  const { raw } = reply
  raw.setTimeout(patience, () => {
    if (raw.writableLength > 0 || stream.readableLength > 0) raw.destroy()
  })
  // Whatever was answered: a problem in its place, say.
  raw.once('close', () => stream.destroy())
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
