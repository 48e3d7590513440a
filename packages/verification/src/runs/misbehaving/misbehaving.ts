import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { App, mustRun } from '../../harness/app.ts'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { type Probed, probe } from '../../harness/probe.ts'
import { shoppersOf } from '../../harness/shoppers.ts'
import { Slowdown } from '../../harness/slowdown.ts'
import { until } from '../../harness/until.ts'
import { type Case, cases, growing, writeBadModule } from './bad-module.ts'

const USERS = 4
const WORKERS = 2
/** How long a module may block the host, in seconds. */
const BLOCKED = { slice: 2, round: 5 }
/** How long other modules may be down beyond that, in milliseconds. */
const BEYOND = 1_500
/** When the third try does no harm, it is quick. */
const HARMLESS = 1_500
/** How long a try may go on, in milliseconds. */
const PATIENCE = 60_000
/** What a stop may take, in milliseconds: the requests in progress have 10 s. */
const STOP = 13_000

const sliced: readonly Case[] = ['endless loop', 'heap by timer', 'sockets']

/**
 * Other modules serve on, whatever one module does: for each case three tries, and a stop during a
 * fourth one.
 */
export const misbehaving = defineRun({
  promise:
    'A module that loops, blocks, fills the memory, opens 50,000 sockets or fails outside of its requests keeps the others from serving for at most 1.5 s beyond `host.blockedSeconds`, and not again after the second time. No acknowledged purchase is lost, and the host can be stopped meanwhile.',
  needed: ['tries', 'purchases acknowledged'],
  engines: process.env.CASES ? undefined : onBothEngines,
  async round(round) {
    const { database, isSlice } = round
    const blocked = BLOCKED[isSlice ? 'slice' : 'round']
    const all = isSlice ? sliced : (Object.keys(cases) as Case[])
    const directory = join(round.folder, 'application')
    const environment = { APP_DATABASE: database, APP_HOST_BLOCKED_SECONDS: `${blocked}` }
    const source = await writeBadModule(join(round.folder, 'bad'))
    const commands = [['init'], ['module-install', 'api-cart', 'api-purchase', source]]
    await mustRun(directory, commands, { environment })
    const shoppers = await shoppersOf(round, directory, USERS, { ifBroken: 'continue', pause: [10, 30] })
    const slowdown = await Slowdown.start(round)
    const words = database === undefined ? [] : ['--workers', `${WORKERS}`]
    for (const name of all.filter((one) => !process.env.CASES || one.includes(process.env.CASES))) {
      if (round.signal.aborted) return
      const host = new App(directory, ['start', '--port', '0', ...words], { environment })
      round.teardown(() => host.kill())
      await host.serving()
      shoppers.start(host.url)
      const outages: number[] = []
      for (let time = 1; time <= 3; time += 1) {
        await slowdown.take()
        const outage = await outageOf(host, name)
        const slow = await slowdown.take()
        outages.push(Math.round(outage))
        const limit = time < 3 ? blocked * 1000 + BEYOND * slow : HARMLESS * slow
        if (outage > limit)
          round.fail(`${name}, time ${time}: the others are down for ${Math.round(outage)} ms, of ${Math.round(limit)} ms`)
        round.count('tries')
      }
      round.log(`${name}: ${outages.join(', ')} ms`)
      round.figures.largest(`longest outage (ms)`, Math.max(...outages))
      await shoppers.stop()
      round.fail(...(await shoppers.check()).map((failure) => `${name}: ${failure}`))
      const begun = performance.now()
      await host.stop()
      if (performance.now() - begun > STOP)
        round.fail(`${name}: the host stops after ${Math.round(performance.now() - begun)} ms`)
      if (process.env.CASES) round.log(host.said)
      await mustRun(directory, [['module-enable', 'bad']], { environment })
    }
    round.count('purchases acknowledged', shoppers.acknowledged)
  },
})

/** Lets the module do harm. @returns the longest time without a response of another module, in milliseconds */
async function outageOf(host: App, name: Case): Promise<number> {
  const over = new AbortController()
  const probing = probe(host.url, over.signal, ['/cart', '/health/live'])
  await pause(300)
  const begun = performance.now()
  const ends = endsOf(host)
  const harm = async () => {
    const status = await statusOf(`${host.url}/bad`, { case: name }, PATIENCE)
    return status === 503 || endsOf(host) > ends
  }
  const isOver = await harm()
  if (!isOver && growing.includes(name)) await until(harm, PATIENCE, 100)
  else await pause(1_000)
  await until(async () => (await statusOf(`${host.url}/cart`)) === 200, PATIENCE, 100)
  over.abort()
  return longestGap(await probing, begun)
}

/** How many processes have ended, as their supervisor says. */
const endsOf = ({ stderr }: App) => stderr.match(/was ended by|ended with exit code/g)?.length ?? 0

const statusOf = (url: string, headers = {}, limit = 5_000) =>
  fetch(url, { headers: { connection: 'close', ...headers }, signal: AbortSignal.timeout(limit) }).then(
    ({ status }) => status,
    () => 0,
  )

/** Between two good responses of one path, from a moment on. */
function longestGap(probes: readonly Probed[], from: number): number {
  const ends = probes
    .filter(({ said }) => said === 200)
    .map(({ at, milliseconds }) => at + milliseconds)
    .filter((at) => at >= from)
    .sort((one, other) => one - other)
  return Math.max(...[from, ...ends].map((at, index, all) => (all[index + 1] ?? at) - at))
}
