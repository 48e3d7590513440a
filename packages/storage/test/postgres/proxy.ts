import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a PostgreSQL server that can be cut, as a network can. */
export interface CuttableProxy {
  /** The server's URL, by this way. */
  readonly url: string
  /** How many connections were ever made. */
  readonly connections: number
  /** Breaks every connection and takes none, until `repair`. */
  cut(): Promise<void>
  repair(): Promise<void>
  /** Takes no new connections, until `repair`; the open ones stay. */
  refuse(): void
  /** From now on connections go to this server, as where an address is given to another machine. */
  point(serverUrl: string): void
  /** Swallows all that is sent either way, while connections stay open and are taken, until `repair`. */
  blackhole(): void
  /** Delivers what is sent from now on so many milliseconds later, each way. */
  delay(milliseconds: number): void
  /** Breaks the next connection that sends `text`, until `repair`: after the server has it, before its response, or before either. */
  cutAt(text: string, when: 'delivered' | 'undelivered'): void
}

export async function startProxy(
  t: { teardown(cleanUp: () => unknown): unknown },
  serverUrl: string,
): Promise<CuttableProxy> {
  let server = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let made = 0
  let swallows = false
  let late = 0
  let trap: { readonly text: string; readonly when: 'delivered' | 'undelivered' } | undefined

  const listener = createServer((client) => {
    made += 1
    const upstream = connect(Number(server.port), server.hostname)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    let deaf = false
    let lost = false
    const pass = (socket: Socket, chunk: Buffer) => {
      lost ||= swallows
      if (lost) return
      if (late === 0) socket.write(chunk)
      else setTimeout(() => socket.writable && socket.write(chunk), late)
    }
    upstream.on('data', (chunk) => deaf || pass(client, chunk))
    client.on('data', (chunk) => {
      if (trap === undefined || !chunk.includes(trap.text)) {
        pass(upstream, chunk)
        return
      }
      const { when } = trap
      trap = undefined
      if (when === 'undelivered') return end()
      deaf = true
      upstream.write(chunk)
      // The response shows that the server has done it.
      upstream.once('data', end)
    })
  })
  const listen = async (port: number) => {
    listener.listen(port, '127.0.0.1')
    await once(listener, 'listening')
  }
  await listen(0)
  const { port } = listener.address() as AddressInfo
  const url = new URL(serverUrl)
  url.port = String(port)
  const cut = async () => {
    const closed = new Promise((resolve) => listener.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  t.teardown(() => listener.listening && cut())
  return {
    url: url.href,
    get connections() {
      return made
    },
    cut,
    refuse() {
      listener.close()
    },
    async repair() {
      swallows = false
      trap = undefined
      if (!listener.listening) await listen(port)
    },
    blackhole() {
      swallows = true
    },
    delay(milliseconds) {
      late = milliseconds
    },
    point(url) {
      server = new URL(url)
    },
    cutAt(text, when) {
      trap = { text, when }
    },
  }
}
