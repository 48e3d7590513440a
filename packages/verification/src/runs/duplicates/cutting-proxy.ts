import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '../../harness/random.ts'

/** The simple query for a commit in PostgreSQL's protocol: `Q`, the length, the text. */
const COMMIT = Buffer.from('Q\0\0\0\x0bCOMMIT\0', 'latin1')

/** When a connection is cut at a COMMIT, with weights. */
const MOMENTS = [
  [1, 'before the server gets it'],
  [3, 'after the server got it'],
  [2, 'during the reply'],
] as const

/** A proxy to a PostgreSQL server that cuts the connection at some COMMITs, so that the host gets no reply. */
export class CuttingProxy {
  cuts = 0
  cutting = false
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(to: URL, random: Random, share: number) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(to.port || 5432), to.hostname)
      const end = () => {
        client.destroy()
        upstream.destroy()
      }
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket)
        socket.on('error', end).on('close', () => {
          this.#sockets.delete(socket)
          end()
        })
      }
      let deaf = false
      upstream.on('data', (bytes) => (deaf ? end() : client.write(bytes)))
      client.on('data', (bytes) => {
        if (!this.cutting || !bytes.includes(COMMIT) || !random.chance(share)) return upstream.write(bytes)
        const moment = random.weighted(MOMENTS)
        this.cuts += 1
        if (moment === 'before the server gets it') return end()
        deaf = true
        upstream.write(bytes, () => moment === 'after the server got it' && end())
      })
    })
  }

  /** @param share of the COMMITs, from 0 to 1 */
  static async start(database: string, random: Random, share: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(new URL(database), random, share)
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

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
