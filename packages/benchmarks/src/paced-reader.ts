import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

// A separate process: clients that each read, wait, and read again. They leave most of the server
// idle, so that a late response waited for the server and not for another reader.

export interface ReadPlan {
  readonly url: string
  readonly path: string
  /** The credentials of each client. */
  readonly clients: readonly Readonly<Record<string, string>>[]
  readonly seconds: number
}

export interface ReadResult {
  readonly requests: number
  /** The 99th percentile of latency, in milliseconds. */
  readonly p99: number
}

const PAUSE_MS = 5

process.on('message', (plan: ReadPlan) => {
  read(plan).then((result) => process.send?.(result))
})

async function read({ url, path, clients, seconds }: ReadPlan): Promise<ReadResult> {
  const agent = new Agent({ keepAlive: true })
  const end = performance.now() + seconds * 1000
  const latencies: number[] = []
  const follow = async (headers: Readonly<Record<string, string>>) => {
    while (performance.now() < end) {
      const begun = performance.now()
      await new Promise<void>((resolve, reject) => {
        get(url + path, { agent, headers }, (response) => {
          if (response.statusCode !== 200) reject(new Error(`${path} got ${response.statusCode}`))
          response.resume().once('end', resolve)
        }).once('error', reject)
      })
      latencies.push(performance.now() - begun)
      await sleep(PAUSE_MS)
    }
  }
  await Promise.all(clients.map(follow))
  agent.destroy()
  latencies.sort((one, other) => one - other)
  return { requests: latencies.length, p99: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN }
}
