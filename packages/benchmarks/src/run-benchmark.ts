import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child } from '@mortise/verification'
import { countWork } from './count-work.ts'
import { withWal } from './fill-schema.ts'
import type { LoadResult } from './load.ts'
import { type Ratios, summarize } from './ratios.ts'
import type { Other, Scenario } from './scenarios.ts'
import { assertSameResponses, type ComparedServer, type ServerName, withServers } from './servers.ts'

export interface BenchmarkOptions {
  readonly scenarios: readonly Scenario[]
  readonly rounds: number
  /** The duration of each measurement. */
  readonly seconds: number
  /** The URL of a PostgreSQL server to measure on; without it, SQLite. */
  readonly postgres?: string | undefined
  /** Another built checkout of this repository, to compare its host too. */
  readonly before?: string | undefined
  /** Receives the name of the next measurement. */
  readonly onProgress?: (text: string) => void
}

/** The host's values divided by another server's, per round. */
export interface Comparison {
  readonly scenario: string
  readonly against: Other
  /** Requests per second: above 1 the host is faster. */
  readonly throughput: Ratios
  /** The 99th percentile of latency: below 1 the host is faster. */
  readonly p99: Ratios
  /** CPU time of the server per request: below 1 the host is cheaper. */
  readonly cpu: Ratios
  /**
   * The load generator's share of one core, with the host and with the other server. Near 1 the
   * generator was the limit, and throughput flatters the slower server: use `cpu` then.
   */
  readonly generator: { readonly host: number; readonly other: number }
}

/** The work of one server for one request. */
export interface Cost {
  readonly scenario: string
  readonly server: ServerName
  /** See `Work`; not for the host without rate limits, nor for that of another checkout. */
  readonly statements?: number
  readonly roundTrips?: number
  readonly trees?: number
  /** Bytes to the disk, on PostgreSQL to its log: the median of the rounds. */
  readonly written: number
  /** Bytes of the server's JavaScript heap: the median of the rounds. */
  readonly allocated: number
}

export interface Report {
  readonly comparisons: readonly Comparison[]
  readonly costs: readonly Cost[]
}

interface Measurement {
  /** Requests per second. */
  readonly throughput: number
  readonly p99: number
  /** Microseconds per request. */
  readonly cpu: number
  /** Bytes per request. */
  readonly written: number
  readonly allocated: number
  readonly generator: number
}

/** Bytes in the log of PostgreSQL so far; without it, 0. */
type Wal = () => Promise<number>

type Round = ReadonlyMap<ServerName, Measurement>

/** The warm-up of every server per scenario, in seconds: the JIT needs some thousand requests. */
const WARM_UP = 2

/**
 * Measures every scenario. Each round measures each server once, in alternating order, so that
 * other work of the machine affects all alike. A ratio compares values of one round.
 * @throws {Error} if a server's responses differ from the others', or a request fails
 */
export async function runBenchmark(options: BenchmarkOptions): Promise<Report> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-benchmark-'))
  const generator = new Child(new URL('load-generator.ts', import.meta.url))
  try {
    options.onProgress?.('counting')
    const work = await countWork(directory, options.postgres)
    options.onProgress?.('preparing')
    return await withServers({ ...options, directory }, (servers) =>
      withWal(options.postgres, async (wal) => {
        await assertSameResponses(servers)
        const comparisons: Comparison[] = []
        const costs: Cost[] = []
        for (const scenario of options.scenarios) {
          const compared = servers.filter(({ name }) => name === 'host' || scenario.against.includes(name))
          const rounds = await measureScenario(generator, scenario, compared, wal, options)
          for (const { name: server } of compared) {
            if (server !== 'host') comparisons.push(compare(scenario.name, server, rounds))
            const { trees, ...counted } = work[scenario.name]?.[server] ?? {}
            const median = (key: 'written' | 'allocated') =>
              Math.round(summarize(valuesOf(rounds, server, key)).median)
            costs.push({
              ...{ scenario: scenario.name, server, ...counted, ...(trees && { trees: trees.length }) },
              ...{ written: median('written'), allocated: median('allocated') },
            })
          }
        }
        return { comparisons, costs }
      }),
    )
  } finally {
    await generator.stop()
    await rm(directory, { recursive: true, force: true })
  }
}

async function measureScenario(
  generator: Child,
  scenario: Scenario,
  compared: readonly ComparedServer[],
  wal: Wal,
  { rounds, seconds, onProgress }: BenchmarkOptions,
): Promise<Round[]> {
  for (const server of compared) await measure(generator, scenario, server, wal, WARM_UP)
  const measured: Round[] = []
  for (let round = 0; round < rounds; round++) {
    onProgress?.(`${scenario.name}, round ${round + 1} of ${rounds}`)
    const results = new Map<ServerName, Measurement>()
    for (const server of round % 2 === 0 ? compared : compared.toReversed()) {
      results.set(server.name, await measure(generator, scenario, server, wal, seconds))
    }
    measured.push(results)
  }
  return measured
}

async function measure(
  generator: Child,
  scenario: Scenario,
  server: ComparedServer,
  wal: Wal,
  seconds: number,
): Promise<Measurement> {
  const used = async () => {
    const usage = await server.usage()
    return { ...usage, written: usage.written + (await wal()) }
  }
  const before = await used()
  const result = await generator.ask<LoadResult>({ ...server.plan(scenario), seconds })
  const after = await used()
  if (result.failures > 0 || result.requests === 0) {
    throw new Error(
      `${scenario.name}: ${result.failures} of ${result.requests} requests failed on "${server.name}", ` +
        'so the run says nothing: ask the server by hand what it returns',
    )
  }
  const perRequest = (key: 'cpu' | 'written' | 'allocated') => (after[key] - before[key]) / result.requests
  return {
    throughput: result.requests / result.seconds,
    p99: result.p99,
    cpu: perRequest('cpu'),
    written: perRequest('written'),
    allocated: perRequest('allocated'),
    generator: result.busy,
  }
}

const valuesOf = (rounds: readonly Round[], name: ServerName, key: keyof Measurement) =>
  rounds.map((round) => (round.get(name) as Measurement)[key])

function compare(scenario: string, against: Other, rounds: readonly Round[]): Comparison {
  const of = (name: ServerName, key: keyof Measurement) => valuesOf(rounds, name, key)
  const ratio = (key: keyof Measurement) => {
    const other = of(against, key)
    return summarize(of('host', key).map((value, round) => value / (other[round] as number)))
  }
  return {
    scenario,
    against,
    throughput: ratio('throughput'),
    p99: ratio('p99'),
    cpu: ratio('cpu'),
    generator: {
      host: summarize(of('host', 'generator')).median,
      other: summarize(of(against, 'generator')).median,
    },
  }
}
