import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Child,
  hostServer,
  ownSchema,
  prepareApplication,
  type Usage,
  writeTallyModule,
} from '@mortise/verification'
import type { LoadResult } from './load.ts'
import { type Ratios, summarize } from './ratios.ts'

export interface CostOptions {
  readonly rounds: number
  /** The duration of each measurement. */
  readonly seconds: number
  /** The URL of a PostgreSQL server; without it, SQLite. */
  readonly database?: string | undefined
}

/** A write of one row with an event, divided by the same write without one. */
export interface CostReport {
  readonly reported: Cost
  /** With an event handler on the same host as well. */
  readonly heard: Cost
}

interface Cost {
  readonly throughput: Ratios
  readonly p99: Ratios
  /** CPU time of the host's process per request. */
  readonly cpu: Ratios
}

const CONNECTIONS = 32

/**
 * Measures the cost of an event for the write that emits it, with two hosts and three kinds of
 * requests in turn.
 */
export async function measureEventCost({ rounds, seconds, database }: CostOptions): Promise<CostReport> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-event-cost-'))
  const generator = new Child(new URL('load-generator.ts', import.meta.url))
  const schemas: ReturnType<typeof ownSchema>[] = []
  const hosts: Child[] = []
  const startHost = async (name: string, listens: boolean) => {
    const directory = join(folder, name)
    await mkdir(directory)
    await prepareApplication(directory, [await writeTallyModule(join(folder, `${name} module`), { listens })])
    const schema = database === undefined ? undefined : ownSchema(database)
    if (schema) schemas.push(schema)
    const host = new Child(hostServer)
    hosts.push(host)
    const { url } = await host.ask<{ url: string }>({ directory, ...(schema && { database: schema.url }) })
    return { host, url }
  }
  const load = async ({ host, url }: Awaited<ReturnType<typeof startHost>>, silent: boolean) => {
    const connections = Array.from({ length: CONNECTIONS }, (_, index) => [
      {
        method: 'POST' as const,
        path: '/tally',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ subjects: [`s${index}`], fails: false, silent }),
      },
    ])
    const before = await host.ask<Usage>({})
    const result = await generator.ask<LoadResult>({ url, connections, seconds })
    if (result.failures > 0) throw new Error(`${result.failures} requests failed`)
    const { cpu } = await host.ask<Usage>({})
    return {
      throughput: result.requests / result.seconds,
      p99: result.p99,
      cpu: (cpu - before.cpu) / result.requests,
    }
  }
  try {
    const deaf = await startHost('deaf', false)
    const hearing = await startHost('hearing', true)
    const measured = {
      silent: () => load(deaf, true),
      reported: () => load(deaf, false),
      heard: () => load(hearing, false),
    }
    const measure = async () => ({
      silent: await measured.silent(),
      reported: await measured.reported(),
      heard: await measured.heard(),
    })
    // The JIT needs some thousand requests.
    for (const _time of [1, 2]) await measure()
    const measurements: Awaited<ReturnType<typeof measure>>[] = []
    for (let round = 0; round < rounds; round += 1) measurements.push(await measure())
    const costOf = (kind: 'reported' | 'heard'): Cost => {
      const ratio = (name: 'throughput' | 'p99' | 'cpu') =>
        summarize(measurements.map((each) => each[kind][name] / each.silent[name]))
      return { throughput: ratio('throughput'), p99: ratio('p99'), cpu: ratio('cpu') }
    }
    return { reported: costOf('reported'), heard: costOf('heard') }
  } finally {
    await Promise.all([...hosts, generator].map((each) => each.stop()))
    for (const schema of schemas) await schema.drop()
    await rm(folder, { recursive: true, force: true })
  }
}
