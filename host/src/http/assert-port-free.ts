import { once } from 'node:events'
import { createServer, type ListenOptions } from 'node:net'

/**
 * Finds a taken port before a start does anything else.
 * @throws {NodeJS.ErrnoException} EADDRINUSE and the like, as `listen` does
 */
export async function assertPortFree({ port, host }: Pick<ListenOptions, 'port' | 'host'>): Promise<void> {
  if (port === 0) return
  const server = createServer((socket) => socket.destroy()).listen({ port, host })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
