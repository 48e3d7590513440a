import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { createServer, type ServerOptions } from '../../src/http/server.ts'

export interface Reply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

/** The host's server on a port of its own; gone after the test. */
export async function listen(
  t: Test,
  listener: RequestListener,
  options: Partial<ServerOptions> = {},
): Promise<Server> {
  const { server } = createServer({ listener, maxConnections: 100, maxRequests: 100, ...options })
  server.listen(0, '127.0.0.1')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return server
}

export function dial(t: Test, server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  return socket
}

/** Sends bytes as they are, and reads until the server ends the connection. */
export async function exchange(t: Test, server: Server, bytes: string | Buffer): Promise<Reply[]> {
  const socket = dial(t, server)
  socket.write(bytes)
  return responsesIn(await text(socket))
}

/** The responses in what a server sent, one after the other; each must state its length. */
export function responsesIn(received: string): Reply[] {
  const responses: Reply[] = []
  let rest = received
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    )
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    const length = status < 200 ? 0 : Number(headers['content-length'])
    if (end === -1 || Number.isNaN(length) || Number.isNaN(status))
      throw new Error(`no whole response: ${rest}`)
    responses.push({ status, headers, body: rest.slice(end + 4, end + 4 + length) })
    rest = rest.slice(end + 4 + length)
  }
  return responses
}
