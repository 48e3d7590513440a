import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'

// Two processes beside a host. One polls /health/live every 10 ms, and at the same time the other, a
// bare server: a delay of both comes from the machine. The bare server also measures how much longer
// than its CPU time a piece of work takes.

const INTERVAL = 10
const PIECE = 1

/** Since the last message, in milliseconds. */
export interface Latest {
  /** The slowest response of the host. */
  readonly host: number
  /** The same, minus the bare server's response time at that moment. */
  readonly own: number
  readonly asked: number
}

interface Asked {
  readonly at: number
  took: number | undefined
}

if (process.argv[2] === 'bare') serve()
else process.once('message', ({ host, bare }: { host: string; bare: string }) => probe(host, bare))
process.once('disconnect', () => process.exit())

/** Replies with the elapsed time of the work since the last message, divided by its CPU time. */
function serve(): void {
  const server = createServer((_request, response) => response.end('{}'))
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
  let [wall, cpu] = [0, 0]
  setInterval(() => {
    const begun = performance.now()
    const before = process.cpuUsage()
    for (let used = 0; used < PIECE * 1_000; ) {
      const { user, system } = process.cpuUsage(before)
      used = user + system
    }
    wall += performance.now() - begun
    cpu += PIECE
  }, INTERVAL)
  process.on('message', () => {
    process.send?.({ slowdown: cpu === 0 ? 1 : Math.max(1, wall / cpu) })
    wall = cpu = 0
  })
}

/** Responds to each message with `Latest`. */
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
  return { host, own, asked: hosts.length }
}
