import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child, mintUsers } from '@mortise/verification'
import type { LoadResult } from './load.ts'
import type { ReadPlan, ReadResult } from './paced-reader.ts'
import { prepareCallers } from './prepare-callers.ts'
import { type Ratios, summarize } from './ratios.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { otherCheckout, thisCheckout } from './servers.ts'

export interface SlowDiskOptions {
  readonly rounds: number
  /** The duration of each measurement. */
  readonly seconds: number
  /** How much longer each fsync takes, in milliseconds. */
  readonly delay: number
  /** Another built checkout of this repository, whose host is measured too. */
  readonly before?: string | undefined
  /** Receives the name of the next measurement. */
  readonly onProgress?: (text: string) => void
}

export interface SlowDisk {
  readonly host: 'host' | 'host before'
  /** The 99th percentile of GET /cart beside the writers ÷ without them. */
  readonly p99: Ratios
  /** Additions to carts by the writers ÷ how many fsyncs there can be, one after the other. */
  readonly writesPerSync: Ratios
  /** The median latency of a lone writer ÷ the delay: near 1 it waits for its own fsync only. */
  readonly loneWrite: Ratios
}

const WRITERS = 16
const READERS = 4

/** Measures how long reads wait for writes on a disk whose fsync is slow. SQLite, under strace. */
export async function measureSlowDisk(options: SlowDiskOptions): Promise<SlowDisk[]> {
  const { rounds, seconds, delay, before, onProgress } = options
  const folder = await mkdtemp(join(tmpdir(), 'mortise-slow-disk-'))
  const generator = new Child(new URL('load-generator.ts', import.meta.url))
  const reader = new Child(new URL('paced-reader.ts', import.meta.url))
  const children = [generator, reader]
  const start = async (name: SlowDisk['host'], checkout: typeof thisCheckout) => {
    const directory = join(folder, name)
    await mkdir(directory)
    const application = await checkout.prepareApplication(directory, ['@mortise/api-cart'])
    const calls = 'fsync,fdatasync'
    // Only these calls are slower: strace lets all others pass.
    const only = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', join(folder, `${name}.strace`)]
    const slow = ['-e', `trace=${calls}`, '-e', `inject=${calls}:delay_exit=${delay * 1000}`]
    const host = new Child(checkout.hostServer, undefined, ['strace', ...only, ...slow, '--'])
    children.push(host)
    const { url } = await host.ask<{ url: string }>({ directory })
    return { name, url, callers: await prepareCallers(url, await mintUsers(application, 2 * WRITERS)) }
  }
  try {
    onProgress?.('preparing')
    const hosts = [await start('host', thisCheckout)]
    if (before !== undefined) hosts.push(await start('host before', await otherCheckout(before)))
    const { requests } = scenarios.find(({ name }) => name === 'POST /cart/item, JWT') as Scenario
    const measure = async ({ url, callers }: (typeof hosts)[number], duration: number) => {
      const plan: ReadPlan = {
        url,
        path: '/cart',
        clients: callers.slice(0, READERS).map(({ user }) => user),
        seconds: duration,
      }
      const write = async (count: number) => {
        const connections = callers.slice(0, count).map(requests)
        const result = await generator.ask<LoadResult>({ url, connections, seconds: duration })
        if (result.failures > 0) throw new Error(`${result.failures} writes failed`)
        return result
      }
      const idle = await reader.ask<ReadResult>(plan)
      const [busy, written] = await Promise.all([reader.ask<ReadResult>(plan), write(WRITERS)])
      const lone = await write(1)
      return {
        p99: busy.p99 / idle.p99,
        writesPerSync: ((written.requests / written.seconds) * delay) / 1000,
        loneWrite: lone.median / delay,
      }
    }
    // The JIT needs some thousand requests.
    for (const host of hosts) await measure(host, 3)
    const measured = new Map<string, Awaited<ReturnType<typeof measure>>[]>()
    for (let round = 0; round < rounds; round += 1) {
      onProgress?.(`round ${round + 1} of ${rounds}`)
      for (const host of round % 2 === 0 ? hosts : hosts.toReversed()) {
        measured.set(host.name, [...(measured.get(host.name) ?? []), await measure(host, seconds)])
      }
    }
    return hosts.map(({ name }) => {
      const of = (key: 'p99' | 'writesPerSync' | 'loneWrite') =>
        summarize((measured.get(name) ?? []).map((each) => each[key]))
      return { host: name, p99: of('p99'), writesPerSync: of('writesPerSync'), loneWrite: of('loneWrite') }
    })
  } finally {
    await Promise.all(children.map((child) => child.stop()))
    await rm(folder, { recursive: true, force: true })
  }
}
