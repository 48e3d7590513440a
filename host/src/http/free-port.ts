import { once } from 'node:events'
import { type AddressInfo, createServer, type ListenOptions } from 'node:net'

/**
 * Finds a taken port before a start does anything else.
 * @returns the port, which 0 has become
 * @throws {NodeJS.ErrnoException} EADDRINUSE and the like, as `listen` does
 */
export async function freePort(wish: Pick<ListenOptions, 'port' | 'host'>): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(wish)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
