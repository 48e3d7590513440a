import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What passed a proxy until the first COMMIT, or until now. */
export interface Passed {
  statements: number
  /** How often a connection that waited for nothing sent something. */
  roundTrips: number
}

const [COMMAND_COMPLETE, READY, SYNC, QUERY] = ['C', 'Z', 'S', 'Q'].map((name) => name.charCodeAt(0))

/** A proxy to a PostgreSQL server that counts statements and round trips by the protocol's messages. */
export class CountingProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #passed: Passed = { statements: 0, roundTrips: 0 }
  #committed = false

  private constructor(to: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(to.port || 5432), to.hostname)
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.setNoDelay(true).on('error', () => {})
        socket.on('close', () => {
          this.#sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
      }
      this.#count(client, upstream)
    })
  }

  static async start(database: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(new URL(database))
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  /** The URL of the database through the proxy. */
  urlFor(database: string): string {
    const url = new URL(database)
    url.hostname = '127.0.0.1'
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  begin(): void {
    this.#passed = { statements: 0, roundTrips: 0 }
    this.#committed = false
  }

  get passed(): Passed {
    return this.#passed
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #count(client: Socket, upstream: Socket): void {
    /** Requests that the server has not finished. The start of a connection is one. */
    let open = 1
    // The first message has no type.
    const ofClient = readMessages(true, (type) => {
      if (type !== SYNC && type !== QUERY) return
      if (open === 0 && !this.#committed) this.#passed.roundTrips += 1
      open += 1
    })
    const ofServer = readMessages(false, (type, body) => {
      if (type === READY) open -= 1
      if (type !== COMMAND_COMPLETE || this.#committed) return
      this.#passed.statements += 1
      this.#committed = body.toString('latin1').startsWith('COMMIT')
    })
    client.on('data', (bytes) => {
      ofClient(bytes)
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      ofServer(bytes)
      client.write(bytes)
    })
  }
}

/** @returns a function that takes bytes, and calls `onMessage` for each whole message */
function readMessages(
  hasUntyped: boolean,
  onMessage: (type: number, body: Buffer) => void,
): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  let typed = !hasUntyped
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const head = typed ? 1 : 0
      if (rest.length < head + 4) return
      const end = head + rest.readUInt32BE(head)
      if (rest.length < end) return
      if (typed) onMessage(rest[0] as number, rest.subarray(head + 4, end))
      typed = true
      rest = rest.subarray(end)
    }
  }
}
