import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

export interface Received {
  readonly headers: Record<string, string>
  readonly body: string
  readonly path: string | undefined
}

/** A receiver of webhooks on this machine, and what it has got. */
export async function receiver(
  t: Test,
  respond: (response: ServerResponse, received: Received) => void | Promise<void> = (response) => {
    response.end()
  },
) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const one = { headers: flat(request.headers), body: await text(request), path: request.url }
    received.push(one)
    await respond(response, one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, port, received }
}

/** One that returns bytes, whatever they are. */
export async function socketReceiver(t: Test, respond: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createSocketServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => respond(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
}

const flat = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
