import { openStorage } from '@mortise/host'
import { one, sql } from '@mortise/module-sdk'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup, planted } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import type { Round } from '../../harness/round.ts'
import { bugs, expiresSoon, inSlice, onPostgres, reservationMinutes } from './bugs.ts'
import { openMarket } from './market.ts'
import { trySchedule } from './try-schedule.ts'

const rush = { purchases: 500, stock: 100, buyers: 64, kills: [20, 250] } as const
/** Scarce, so that many purchases find too little. */
const mixed = { buyers: 16, stocks: [3, 12, 30, 60], kills: [40, 800] } as const
/** Of a round, and until a mistake counts as not found. */
const schedules = { slice: 6, round: 500, mistake: 50 }

export const stock = defineRun({
  promise:
    'Of a scarce product exactly the stock is sold while callers reserve, buy, repeat, cancel and delete, reservations and purchases expire and hosts are killed, and the check finds planted mistakes.',
  needed: [
    'sold in a rush',
    'refused in a rush',
    'hosts killed',
    'reserved',
    'bought',
    'planted mistakes found',
  ],
  engines: onBothEngines,
  async round(round) {
    await sellOut(round)
    const { failures } = await mix(round)
    round.fail(...failures)
    for (const bug of Object.keys(bugs)) {
      const isHere = round.database !== undefined || !onPostgres.includes(bug)
      const isNow = !round.isSlice || (inSlice.includes(bug) && round.database === undefined)
      if (bug === expiresSoon || !isHere || !isNow) continue
      const { tried, failures } = await mix(round, bug)
      if (failures.length === 0) round.fail(`planted and not found: ${bug}`)
      else round.count('planted mistakes found')
      round.log(`after ${tried} schedules: ${bug}: ${failures[0]}`)
    }
  },
})

const startHosts = (round: Round, ...names: readonly (string | undefined)[]) =>
  HostGroup.start(round, {
    modules: ['@mortise/api-cart', '@mortise/api-product', '@mortise/api-purchase'],
    ...planted(new URL('bugs.ts', import.meta.url), ...names),
    // Without `expiresSoon` nothing expires during a run.
    settings: { 'api-cart': { reservationMinutes }, 'api-purchase': { expirePendingAfterMinutes: 60 } },
  })

/** All buy one of the same product at a time, until long after the last is sold. */
async function sellOut(round: Round): Promise<void> {
  const hosts = await startHosts(round)
  const market = await openMarket(round, hosts, { ...rush, stocks: [rush.stock] })
  const outcomes: unknown[] = []
  const turns = market.products.flatMap(({ id }) =>
    Array(rush.purchases).fill([{ product: id, quantity: 1 }]),
  )
  const all = turns.values()
  const buyAll = market.buyers.map(async (buyer) => {
    for (const lines of all) outcomes.push(await market.buy(buyer, lines))
  })
  await Promise.all(buyAll)
  await market.close()
  await market.check()
  const sold = outcomes.filter((outcome) => typeof outcome === 'object').length
  const refused = outcomes.filter((outcome) => outcome === 'out of stock').length
  round.fail(...market.failures)
  if (sold !== rush.stock || refused !== rush.purchases - rush.stock)
    round.fail(`${sold} were sold and ${refused} refused of ${rush.purchases}, with ${rush.stock} in stock`)
  round.count('sold in a rush', sold)
  round.count('refused in a rush', refused)
  await hosts.stop()
}

/** Tries random schedules until something fails. @returns the number of schedules, and the failures */
async function mix(round: Round, bug?: string) {
  const before = await deadlocks(round)
  const hosts = await startHosts(round, expiresSoon, bug)
  const market = await openMarket(round, hosts, mixed)
  const { failures } = market
  const seeds = new Random(round.seed)
  const most = schedules[bug !== undefined ? 'mistake' : round.isSlice ? 'slice' : 'round']
  let tried = 0
  while (tried < most && failures.length === 0 && !round.signal.aborted) {
    tried += 1
    await trySchedule(market, seeds.between(0, 2 ** 31), (what) => bug === undefined && round.count(what))
    if ((await deadlocks(round)) > before) break
  }
  await market.close()
  await hosts.stop()
  const more = (await deadlocks(round)) - before
  if (more > 0) failures.push(`${more} transactions waited for each other in a circle`)
  return { tried, failures }
}

/** How often PostgreSQL has ended a transaction that waited in a circle. It counts up to a second later. */
async function deadlocks({ database }: Round): Promise<number> {
  if (database === undefined) return 0
  const storage = await openStorage({ url: database, onFatal: () => {} })
  const query = sql`SELECT deadlocks AS count FROM pg_stat_database WHERE datname = current_database()`
  try {
    return (await storage.transaction(() => one<{ count: number }>(query))).count
  } finally {
    await storage.close()
  }
}
