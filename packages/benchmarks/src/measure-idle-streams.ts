import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child, Host, mintUsers, openStream, prepareApplication, type Stream } from '@mortise/verification'
import type { LoadResult } from './load.ts'
import { prepareCallers } from './prepare-callers.ts'
import { type Ratios, summarize } from './ratios.ts'
import { type Scenario, scenarios } from './scenarios.ts'

export interface IdleOptions {
  readonly streams: number
  readonly rounds: number
  /** The duration of each measurement. */
  readonly seconds: number
}

export interface IdleReport {
  /** The memory per stream, in KB: heap, and resident memory. */
  readonly heapPerStream: number
  readonly memoryPerStream: number
  /** With streams ÷ without streams, from two hosts in turn. */
  readonly scenarios: readonly {
    readonly name: string
    readonly throughput: Ratios
    readonly p99: Ratios
    /** CPU time per request, the value least affected by other work of the machine. */
    readonly cpu: Ratios
  }[]
}

const CONNECTIONS = 16
/** All streams come from one address. */
const MOST_STREAMS = 100_000
/** The limit of one caller. */
const STREAMS_PER_CALLER = 10

/** Measures the cost of idle streams while the requests of other callers cause many events. */
export async function measureIdleStreams({
  streams: count,
  rounds,
  seconds,
}: IdleOptions): Promise<IdleReport> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-streams-'))
  const hosts: Host[] = []
  const generator = new Child(new URL('load-generator.ts', import.meta.url))
  const streams: Stream[] = []
  try {
    const [quiet, full] = await Promise.all(['quiet', 'full'].map((name) => startHost(join(folder, name))))
    if (!quiet || !full) throw new Error('there are two')
    hosts.push(quiet.host, full.host)
    const scenario = (name: string) => scenarios.find((each) => each.name === name) as Scenario
    const measured = ['GET /cart, JWT', 'POST /cart/item, JWT'].map(scenario)
    const load = async (host: Measured, { requests, name }: Scenario) => {
      const { url, callers } = host
      const before = await figureOf(host, 'process_cpu_seconds_total')
      const result = await generator.ask<LoadResult>({ url, seconds, connections: callers.map(requests) })
      if (result.failures > 0) throw new Error(`${name}: ${result.failures} requests failed`)
      const cpu = (await figureOf(host, 'process_cpu_seconds_total')) - before
      return { throughput: result.requests / result.seconds, p99: result.p99, cpu: cpu / result.requests }
    }
    // The JIT needs some thousand requests.
    for (const host of [quiet, full, quiet, full]) for (const each of measured) await load(host, each)
    const before = await memoryOf(full)
    await openAll(full, count, streams)
    const after = await memoryOf(full)
    // A full garbage collection also discards compiled code.
    for (const _each of ['before', 'after']) await memoryOf(quiet)
    for (const host of [quiet, full, quiet, full]) for (const each of measured) await load(host, each)

    const ratios = []
    for (const each of measured) {
      const loads: Record<'alone' | 'beside', Awaited<ReturnType<typeof load>>>[] = []
      for (let round = 0; round < rounds; round += 1) {
        loads.push({ alone: await load(quiet, each), beside: await load(full, each) })
      }
      const ratio = (name: 'throughput' | 'p99' | 'cpu') =>
        summarize(loads.map(({ alone, beside }) => beside[name] / alone[name]))
      ratios.push({ name: each.name, throughput: ratio('throughput'), p99: ratio('p99'), cpu: ratio('cpu') })
    }
    if (streams.some(({ response }) => response.destroyed)) throw new Error('a stream has ended')
    const perStream = (name: 'heap' | 'resident') => Math.round((after[name] - before[name]) / count / 1024)
    return { heapPerStream: perStream('heap'), memoryPerStream: perStream('resident'), scenarios: ratios }
  } finally {
    for (const stream of streams) stream.drop()
    await Promise.all([...hosts, generator].map((each) => each.stop()))
    await rm(folder, { recursive: true, force: true })
  }
}

type Measured = Awaited<ReturnType<typeof startHost>>

async function startHost(directory: string) {
  await mkdir(directory)
  const application = await prepareApplication(directory, ['@mortise/api-cart', '@mortise/api-event'])
  const file = join(directory, 'app.config.json')
  const config = JSON.parse(await readFile(file, 'utf8'))
  const modules = { 'api-event': { streamsPerAddress: MOST_STREAMS } }
  await writeFile(file, JSON.stringify({ ...config, modules }))
  const host = await Host.start(directory)
  const url = `http://127.0.0.1:${host.port}`
  const callers = await prepareCallers(url, await mintUsers(application, 2 * CONNECTIONS))
  return { application, host, url, callers }
}

async function openAll({ application, url }: Measured, count: number, streams: Stream[]): Promise<void> {
  // Callers other than the writers.
  const tokens = await mintUsers(application, 2 * CONNECTIONS + Math.ceil(count / STREAMS_PER_CALLER))
  const watching = tokens.slice(2 * CONNECTIONS)
  for (let index = 0; index < count; index += 1) {
    const authorization = `Bearer ${watching[index % watching.length]}`
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    streams.push(await openStream(url, { authorization }, () => resolve()))
    await begun
  }
}

/** In bytes, after a garbage collection. */
async function memoryOf(measured: Measured): Promise<{ heap: number; resident: number }> {
  const { heap } = await measured.host.figures()
  return { heap, resident: await figureOf(measured, 'process_resident_memory_bytes') }
}

async function figureOf({ url }: Measured, name: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1])
}
