import { randomBytes } from 'node:crypto'
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child } from './child.ts'
import { dropSchemas, fillSchema } from './fill-schema.ts'
import type { LoadResult } from './load.ts'
import { prepareApplication } from './prepare-application.ts'
import { type Callers, mintUsers, prepareCallers } from './prepare-callers.ts'
import { type Ratios, summarize } from './ratios.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { CONNECTIONS } from './servers.ts'

export interface Gain {
  readonly scenario: string
  /** Requests per second of two hosts on one database, divided by those of one: 2 were perfect, 1 is nothing. */
  readonly throughput: Ratios
}

export interface ProcessesOptions {
  /** The URL of a PostgreSQL server. */
  readonly postgres: string
  readonly rounds: number
  /** How long each measurement takes. */
  readonly seconds: number
}

/** Measures what a second host adds: the same callers ask one, or half of them each of two, by turns. */
export async function measureProcesses({ postgres, rounds, seconds }: ProcessesOptions): Promise<Gain[]> {
  const folder = await mkdtemp(join(tmpdir(), 'mortise-processes-'))
  const schema = `host_${randomBytes(8).toString('hex')}`
  const children: Child[] = []
  const child = (file: string) => {
    children.push(new Child(file))
    return children.at(-1) as Child
  }
  try {
    const directories = [join(folder, 'one'), join(folder, 'two')] as const
    await mkdir(directories[0])
    const application = await prepareApplication(directories[0], [
      '@mortise/api-cart',
      '@mortise/api-purchase',
    ])
    await cp(directories[0], directories[1], { recursive: true })
    const urls: string[] = []
    for (const directory of directories) {
      const database = `${postgres}?schema=${schema}`
      urls.push((await child('host-server').ask<{ url: string }>({ directory, database })).url)
    }
    await fillSchema(postgres, schema)
    const callers = await prepareCallers(urls[0] as string, await mintUsers(application, 2 * CONNECTIONS))
    const halves = [callers.slice(0, CONNECTIONS / 2), callers.slice(CONNECTIONS / 2)]
    // One for each half, so that both ways are asked by as many.
    const generators = halves.map(() => child('load-generator'))

    const throughput = async (scenario: Scenario, hosts: readonly string[]): Promise<number> => {
      const results = await Promise.all(
        generators.map((generator, index) =>
          generator.ask<LoadResult>({
            url: hosts[index % hosts.length],
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
      await throughput(scenario, urls)
      const ratios: number[] = []
      for (let round = 0; round < rounds; round++) {
        const one = await throughput(scenario, urls.slice(0, 1))
        ratios.push((await throughput(scenario, urls)) / one)
      }
      gains.push({ scenario: scenario.name, throughput: summarize(ratios) })
    }
    return gains
  } finally {
    await Promise.all(children.map((each) => each.stop()))
    await dropSchemas(postgres, [schema])
    await rm(folder, { recursive: true, force: true })
  }
}
