import { randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, Child, mintUsers, prepareApplication, startHost } from '@mortise/verification'
import { dropSchemas, fillSchema } from './fill-schema.ts'
import type { LoadResult } from './load.ts'
import { type Callers, prepareCallers } from './prepare-callers.ts'
import { type Ratios, summarize } from './ratios.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { CONNECTIONS } from './servers.ts'

export interface Gain {
  readonly scenario: string
  /** Requests per second of two workers, divided by those of one: 2 is perfect, 1 is no gain. */
  readonly throughput: Ratios
}

export interface ProcessesOptions {
  /** The URL of a PostgreSQL server. */
  readonly postgres: string
  readonly rounds: number
  /** The duration of each measurement. */
  readonly seconds: number
}

/**
 * Measures the gain of a second worker: the same callers use `app start --workers 1` and `--workers
 * 2` on one database, in turn.
 */
export async function measureProcesses({ postgres, rounds, seconds }: ProcessesOptions): Promise<Gain[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-processes-'))
  const schema = `host_${randomBytes(8).toString('hex')}`
  const hosts: App[] = []
  const generators: Child[] = []
  try {
    const directories = [join(folder, 'one'), join(folder, 'two')] as const
    await mkdir(directories[0])
    const application = await prepareApplication(directories[0], [
      '@mortise/api-cart',
      '@mortise/api-purchase',
    ])
    await useDatabase(directories[0], `${postgres}?schema=${schema}`)
    await cp(directories[0], directories[1], { recursive: true })
    for (const [index, directory] of directories.entries())
      hosts.push(await startHost(directory, { workers: index + 1 }))
    const [one, two] = hosts.map(({ port }) => `http://127.0.0.1:${port}`) as [string, string]
    await fillSchema(postgres, schema)
    const callers = await prepareCallers(one, await mintUsers(application, 2 * CONNECTIONS))
    const halves = [callers.slice(0, CONNECTIONS / 2), callers.slice(CONNECTIONS / 2)]
    for (const _half of halves) generators.push(new Child(new URL('load-generator.ts', import.meta.url)))

    const throughput = async (scenario: Scenario, url: string): Promise<number> => {
      const results = await Promise.all(
        generators.map((generator, index) =>
          generator.ask<LoadResult>({
            url,
            connections: (halves[index] as Callers[]).map((each) => scenario.requests(each)),
            seconds,
          }),
        ),
      )
      if (results.some(({ failures }) => failures > 0)) throw new Error(`${scenario.name}: requests failed`)
      return results.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0)
    }
    const gains: Gain[] = []
    for (const scenario of scenarios.filter(({ name }) => name.endsWith('JWT'))) {
      // The JIT needs some thousand requests.
      for (const url of [one, one, two, two]) await throughput(scenario, url)
      const ratios: number[] = []
      for (let round = 0; round < rounds; round++) {
        const alone = await throughput(scenario, one)
        ratios.push((await throughput(scenario, two)) / alone)
      }
      gains.push({ scenario: scenario.name, throughput: summarize(ratios) })
    }
    return gains
  } finally {
    await Promise.all([...hosts, ...generators].map((each) => each.stop()))
    await dropSchemas(postgres, [schema])
    await rm(folder, { recursive: true, force: true })
  }
}

async function useDatabase(directory: string, database: string): Promise<void> {
  const file = join(directory, 'app.config.json')
  const config = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...config, database }))
}
