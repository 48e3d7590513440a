import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup, planted } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'
import { afterKills, bugs, inSlice, onPostgres } from './bugs.ts'
import { stressClaim } from './stress-claim.ts'
import { type Tried, tryHistory } from './try-history.ts'

/** A bug counts as not found after so many histories. */
const LIMIT = 50

export const linearizability = defineRun({
  promise:
    'A cart behaves for 16 concurrent clients as if they used it one after the other, and the check finds planted mistakes.',
  needed: ['hosts killed', 'claims', 'planted mistakes found'],
  engines: onBothEngines,
  async round(round) {
    const seeds = new Random(round.seed)
    const hosts = await startHosts(round)
    for (const kills of [false, true]) {
      const tried = await tryOnce(hosts, seeds, kills)
      round.count('operations', tried.operations)
      round.count('without a response', tried.noResponse)
      round.count('claims', tried.claims)
      if (kills) round.count('hosts killed', 2)
      if (tried.failure !== undefined) round.fail(tried.failure)
    }
    await hosts.stop()
    for (const bug of Object.keys(bugs)) {
      const isHere = onPostgres.includes(bug) === (round.database !== undefined)
      if (isHere && (!round.isSlice || inSlice.includes(bug))) await find(round, bug)
    }
  },
})

const startHosts = (round: Round, bug?: string) =>
  HostGroup.start(round, {
    modules: ['@mortise/api-cart'],
    ...planted(new URL('bugs.ts', import.meta.url), bug),
  })

/** A history of concurrent operations and, with a kill, a claim of one guest by two. */
async function tryOnce(hosts: HostGroup, seeds: Random, kills: boolean): Promise<Tried> {
  const tried = await tryHistory(hosts, seeds.between(0, 2 ** 31), kills)
  if (!kills || tried.failure !== undefined) return tried
  return { ...tried, failure: await stressClaim(hosts, seeds.between(0, 2 ** 31)) }
}

/** Plants a bug, and tries until it is found. */
async function find(round: Round, bug: string): Promise<void> {
  // Other users than before, whose carts are fresh.
  const seeds = new Random(round.seed + 1)
  const hosts = await startHosts(round, bug)
  let count = 1
  while (count <= LIMIT && (await tryOnce(hosts, seeds, afterKills.includes(bug))).failure === undefined)
    count += 1
  await hosts.stop()
  if (count > LIMIT) return round.fail(`planted and not found: ${bug}`)
  round.count('planted mistakes found')
  round.log(`found in history ${count}: ${bug}`)
}
