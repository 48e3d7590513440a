import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'

// A process of its own: asks for /health/live every 10 ms, and the same of a bare server in a further process at the
// same moments, which shows what the machine, or this process, was late with by itself. Its parent sends the URL once,
// and then anything for the latest answer since.

const INTERVAL = 10

export interface Latest {
  /** How late the latest answer of the host was, in milliseconds. */
  readonly host: number
  /** The same, less what the bare server's latest answer took at that moment. */
  readonly own: number
  /** Of the bare server. */
  readonly bare: number
  readonly asked: number
}

interface Asked {
  readonly at: number
  took: number | undefined
}

if (process.argv[2] === 'bare') serve()
else process.once('message', ({ host, bare }: { host: string; bare: string }) => probe(host, bare))

function serve(): void {
  const server = createServer((_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  process.once('disconnect', () => process.exit())
}

function probe(host: string, bare: string): void {
  let hosts: Asked[] = []
  let bares: Asked[] = []
  const agent = new Agent({ keepAlive: true })
  const ask = (url: string): Asked => {
    const asked: Asked = { at: performance.now(), took: undefined }
    const done = () => {
      asked.took ??= performance.now() - asked.at
    }
    get(url, { agent }, (response) => response.resume().once('end', done)).once('error', done)
    return asked
  }
  setInterval(() => {
    hosts.push(ask(host))
    bares.push(ask(bare))
  }, INTERVAL)
  process.on('message', () => {
    process.send?.(latest(hosts, bares))
    hosts = hosts.filter(({ took }) => took === undefined)
    bares = bares.filter(({ took }) => took === undefined)
  })
  process.once('disconnect', () => process.exit())
}

function latest(hosts: readonly Asked[], bares: readonly Asked[]): Latest {
  const now = performance.now()
  const tookOf = ({ at, took = now - at }: Asked) => took
  let [host, own] = [0, 0]
  for (const asked of hosts) {
    const took = tookOf(asked)
    host = Math.max(host, took)
    if (took <= own) continue
    const meanwhile = bares.filter(
      (other) => other.at <= asked.at + took && other.at + tookOf(other) >= asked.at,
    )
    own = Math.max(own, took - Math.max(0, ...meanwhile.map(tookOf)))
  }
  return { host, own, bare: Math.max(0, ...bares.map(tookOf)), asked: hosts.length }
}
