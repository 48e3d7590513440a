import type { Readable } from 'node:stream'

/** As a multiple of a request's timeout: it stops a server that sends a byte now and then. */
export const longestResponse = 5

export interface BodyLimits {
  /** The most bytes, decompressed. */
  readonly most: number
  readonly tooLarge: () => Error
  /** Aborts when the body has taken too long. */
  readonly late: AbortSignal | undefined
}

/**
 * All bytes of a body of npm's library. That library reads a response at the speed of the network,
 * so the bytes are counted as they arrive.
 */
export function readBody(
  stream: NodeJS.ReadableStream,
  { most, tooLarge, late }: BodyLimits,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let size = 0
  const stop = (error: Error) => {
    reject(error)
    ;(stream as Readable).destroy()
  }
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > most) stop(tooLarge())
    else chunks.push(chunk)
  })
  stream.on('error', reject)
  stream.once('end', () => resolve(Buffer.concat(chunks)))
  late?.addEventListener('abort', () => stop(new Error('the download takes too long')), { once: true })
  return promise
}
