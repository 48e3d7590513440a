import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '../../harness/random.ts'

/** The simple query that commits, as PostgreSQL's protocol has it: `Q`, the length, the text. */
const COMMIT = Buffer.from('Q\0\0\0\x0bCOMMIT\0', 'latin1')

/** When a connection is cut at a COMMIT, by how often. */
const MOMENTS = [
  [1, 'before it is sent on'],
  [3, 'once it was sent on'],
  [2, 'once it was answered'],
] as const
export type Moment = (typeof MOMENTS)[number][1]

/** A way to a PostgreSQL server that is cut at some of the COMMITs that go along it, so that the host gets no answer. */
export class CuttingProxy {
  readonly cuts: Record<Moment, number> = {
    'before it is sent on': 0,
    'once it was sent on': 0,
    'once it was answered': 0,
  }
  /** Whether it cuts. */
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
        this.cuts[moment] += 1
        if (moment === 'before it is sent on') return end()
        deaf = true
        upstream.write(bytes, () => moment === 'once it was sent on' && end())
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

  /** The URL of the same database by this way. */
  wayTo(database: string): string {
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
