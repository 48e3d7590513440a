import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { callRunningHost } from '@mortise/host'
import { App, mustRun, runApp } from '../../harness/app.ts'
import { defineRun, onEitherEngine } from '../../harness/define-run.ts'
import { type Probed, probe } from '../../harness/probe.ts'
import { shoppersOf } from '../../harness/shoppers.ts'
import { signal } from '../../harness/signal.ts'
import { Slowdown } from '../../harness/slowdown.ts'
import { until } from '../../harness/until.ts'
import { type Case, cases, growing, writeBadModule } from './bad-module.ts'

const USERS = 4
const WORKERS = 2
/** How long a module may block the host, in seconds. */
const BLOCKED = { slice: 2, round: 5 }
/** The heap of the host, in MiB, so that it is full after some seconds. */
const HEAP = 1_024
/** How long other modules may be down beyond that, and when the harm is not done again, in milliseconds. */
const BEYOND = 1_500
/** How long a try may go on, in milliseconds. */
const PATIENCE = 60_000
/** How long workers may take to follow the quarantine of another, in milliseconds. */
const FOLLOW = 12_000
/** How long all processes are stopped, as if the machine slept, in milliseconds. */
const SUSPENSION = 20_000
/** How long a stop may take, in milliseconds: the requests in progress have 10 s. */
const STOP = 14_000

const sliced: readonly Case[] = ['endless loop', 'heap by timer', 'sockets']

/** For each case three tries, and a stop during a fourth one. */
export const misbehaving = defineRun({
  promise:
    'A module that loops, blocks, fills the memory, opens 50,000 sockets or fails outside of its requests keeps the others from serving for at most 1.5 s beyond `host.blockedSeconds` where the host has a core for itself, and no more after the second time. No acknowledged purchase is lost, and SIGTERM ends the host meanwhile.',
  needed: ['tries', 'purchases acknowledged'],
  // With workers on PostgreSQL.
  engines: onEitherEngine,
  async round(round) {
    const { database, isSlice } = round
    const directory = join(round.folder, 'application')
    const blocked = BLOCKED[isSlice ? 'slice' : 'round']
    const environment = {
      APP_DATABASE: database,
      APP_HOST_BLOCKED_SECONDS: `${blocked}`,
      NODE_OPTIONS: `--max-old-space-size=${HEAP}`,
    }
    const source = await writeBadModule(join(round.folder, 'bad'))
    const commands = [['init'], ['module-install', '--yes', 'api-cart', 'api-purchase', source]]
    await mustRun(directory, commands, { environment })
    const habits = { ifBroken: 'continue', pause: [10, 30] } as const
    const shoppers = await shoppersOf(round, directory, USERS, habits)
    const slowdown = await Slowdown.start(round)
    const workers = database === undefined ? [] : ['--workers', `${WORKERS}`]

    const tryCase = async (name: Case) => {
      const begun = performance.now()
      const host = new App(directory, ['start', '--port', '0', ...workers], { environment })
      round.teardown(() => host.kill())
      await host.serving()
      // A process that ends takes as long to start again. A thread counts its own time, which is longer if
      // others leave it less than a core.
      const beyond = Math.max(BEYOND, performance.now() - begun)
      shoppers.start(host.url)
      const outages: number[] = []
      for (const time of [1, 2, 3]) {
        if (time === 3 && endsOf(host) > 0) await refusesAll(host)
        await slowdown.take()
        const ends = endsOf(host)
        const outage = await outageOf(host, name)
        const slow = await slowdown.take()
        const limit = ((time < 3 ? blocked * 1_000 : 0) + beyond) * slow
        round.figures.largest('slowdown by others (%)', Math.round(slow * 100))
        if (outage > limit)
          round.fail(`${name}, time ${time}: the others are down for ${outage} ms of ${Math.round(limit)}`)
        if (time === 3 && endsOf(host) > ends) round.fail(`${name}: a process ended for the third time`)
        outages.push(outage)
        round.count('tries')
        round.figures.largest('longest outage (ms)', outage)
      }
      await shoppers.stop()
      round.fail(...(await shoppers.check()).map((failure) => `${name}: ${failure}`))
      const stop = await stopDuring(host, name, () =>
        runApp(directory, ['module-enable', 'bad'], { environment }),
      )
      if (stop > STOP) round.fail(`${name}: the host stops after ${stop} ms`)
      round.figures.largest('slowest stop (ms)', stop)
      round.log(`${name}: ${outages.join(', ')} ms, stop ${stop} ms`)
      await mustRun(directory, [['module-enable', 'bad']], { environment })
    }

    const suspendAll = async () => {
      const host = new App(directory, ['start', '--port', '0', ...workers], { environment })
      round.teardown(() => host.kill())
      await host.serving()
      const { pid, workers: processes = [] } = (await callRunningHost(directory, 'state')) ?? {}
      const pids = new Set([host.child.pid, pid, ...processes.map(({ pid }) => pid)])
      for (const name of ['SIGSTOP', 'SIGCONT'] as const) {
        for (const pid of pids) if (pid !== undefined) signal(pid, name)
        if (name === 'SIGSTOP') await pause(SUSPENSION)
      }
      await pause(blocked * 1_000)
      const status = await statusOf(`${host.url}/bad`)
      const ends = await readdir(join(directory, '.app', 'ends')).catch(() => [])
      if (status !== 200 || ends.length > 0 || endsOf(host) > 0)
        round.fail(`a suspension is blamed on a module: ${status}, ${ends}, ${host.end}`)
      round.count('suspensions')
      await host.stop()
    }

    for (const name of isSlice ? sliced : (Object.keys(cases) as Case[])) {
      if (round.signal.aborted) break
      await tryCase(name)
    }
    if (!isSlice) await suspendAll()
    round.count('purchases acknowledged', shoppers.acknowledged)
  },
})

/** Waits until no process lets the module do anything. */
async function refusesAll(host: App): Promise<void> {
  await until(
    async () => {
      const statuses = await Promise.all(Array.from({ length: 6 }, () => statusOf(`${host.url}/bad`)))
      return statuses.every((status) => status === 503)
    },
    FOLLOW,
    200,
  )
}

/** @param release lets the module serve again @returns how long the host takes to end, in milliseconds */
async function stopDuring(host: App, name: Case, release: () => Promise<unknown>): Promise<number> {
  await release()
  statusOf(`${host.url}/bad`, { case: name }, PATIENCE)
  await pause(500)
  const begun = performance.now()
  await host.stop()
  return Math.round(performance.now() - begun)
}

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
  const end = performance.now()
  over.abort()
  return longestGap(await probing, begun, end)
}

/** How many processes have ended, as their supervisor says. */
const endsOf = ({ stderr }: App) => stderr.match(/was ended by|ended with exit code/g)?.length ?? 0

const statusOf = (url: string, headers = {}, limit = 5_000) =>
  fetch(url, { headers: { connection: 'close', ...headers }, signal: AbortSignal.timeout(limit) }).then(
    ({ status }) => status,
    () => 0,
  )

/** Between two good responses, or the begin and the end. */
function longestGap(probes: readonly Probed[], from: number, to: number): number {
  const ends = probes
    .filter(({ said }) => said === 200)
    .map(({ at, milliseconds }) => at + milliseconds)
    .filter((at) => at >= from)
  const times = [from, ...ends, to].sort((one, other) => one - other)
  return Math.round(Math.max(...times.map((at, index) => (times[index + 1] ?? at) - at)))
}
