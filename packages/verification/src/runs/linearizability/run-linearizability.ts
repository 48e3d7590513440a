import { inTemporaryFolder } from '@mortise/host'
import { type HostGroup, withHosts } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import { runRound } from './run-round.ts'
import { stressClaim } from './stress-claim.ts'

export interface LinearizabilityOptions {
  readonly rounds: number
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
  /** The bug to plant in the hosts, by name. */
  readonly bug?: string
  /** Kill a host in every nth round, and during every nth claim. */
  readonly killEvery: number
}

export interface LinearizabilityReport {
  /** The run ends with the first failing round. */
  readonly rounds: number
  readonly operations: number
  /** Operations without a response. */
  readonly noResponse: number
  readonly claims: number
  readonly kills: number
  /** The failure of the first failing round. */
  readonly failure: string | undefined
}

/** Rounds of 16 clients on fresh carts, until one fails. */
export async function runLinearizability(options: LinearizabilityOptions): Promise<LinearizabilityReport> {
  const { database, bug } = options
  const planted = { file: new URL('planted-host.ts', import.meta.url), options: { bug } }
  return await inTemporaryFolder(undefined, (folder) =>
    withHosts(database, { folder, modules: ['@mortise/api-cart'], ...planted }, (hosts) =>
      runRounds(hosts, options),
    ),
  )
}

async function runRounds(
  hosts: HostGroup,
  { rounds, seed, killEvery }: LinearizabilityOptions,
): Promise<LinearizabilityReport> {
  const seeds = new Random(seed)
  const report = { rounds: 0, operations: 0, noResponse: 0, claims: 0, kills: 0 }
  while (report.rounds < rounds) {
    report.rounds += 1
    const kills = report.rounds % killEvery === 0
    const { failure, ...figures } = await runRound({ hosts, seed: seeds.between(0, 2 ** 31), kills })
    report.operations += figures.operations
    report.noResponse += figures.noResponse
    report.claims += figures.claims
    if (failure !== undefined) return { ...report, failure }
    if (!kills) continue
    const lost = await stressClaim(hosts, seeds.between(0, 2 ** 31))
    report.kills += 2
    if (lost !== undefined) return { ...report, failure: lost }
  }
  return { ...report, failure: undefined }
}
