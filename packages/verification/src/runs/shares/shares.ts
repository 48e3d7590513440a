import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { defineRun } from '../../harness/define-run.ts'
import { openStream } from '../../harness/event-stream.ts'
import { probe, probeOnce } from '../../harness/probe.ts'
import type { Round } from '../../harness/round.ts'
import { Slowdown } from '../../harness/slowdown.ts'
import { Attack, readersFrom } from './attack.ts'
import { type LoadedHost, startLoadedHost } from './loaded-host.ts'

/** Open files of the largest process, with a reserve. */
const OPEN_FILES = 4_600
/**
 * The largest ratio of the p99 of signed-in callers in the attacked host to that in an idle host. The
 * idle host runs beside the attacked one with the same load at the same time, so other work of the
 * machine slows both. The attackers keep a fixed pace, so they do not compete for cores. The median
 * of the attacks counts; a higher one needs up to two more attacks. Each ratio is divided by the
 * slowdown of the machine: elapsed time by CPU time of a piece of work.
 */
const MOST_RATIO = 2
/** In a slice, whose few requests only show whether a defence is missing. */
const MOST_RATIO_OF_A_SLICE = 4
const ATTACKS_TO_JUDGE = 3
/**
 * The slowdown without an attack, by other work on the machine, from which on a failure means
 * nothing: then the run is skipped. The attackers cannot cause it, since they rest meanwhile.
 */
const MOST_BY_OTHERS = 3
/** The largest slowdown by which a limit is raised: times on a slower machine mean nothing. */
const MOST_SLOWDOWN = 4
/** Disk growth per address and minute, in bytes: docs/operating.md, "What strangers can store". */
const MOST_GROWTH = 25 * 1024 * 1024
/** The extra time of a health probe over the slowest of the idle host, in ms; times the slowdown. */
const PROBE = 1_000
/**
 * The host ends a connection without progress after 3 s while all are taken, and checks once per
 * second. In milliseconds; times the slowdown.
 */
const READER_PATIENCE = 6_000
/** The length of a measurement, in milliseconds. */
const WINDOW = 4_000
/** The warm-up before it, in milliseconds. */
const WARMING = 1_500
/** The interval of requests of each caller, in milliseconds. */
const AGAIN = 60

/** Attacks a host while signed-in callers shop. */
export const shares = defineRun({
  promise:
    'Strangers who never read, hold streams open and send the longest writes block no other caller. The p99 of signed-in callers is at most twice that of an idle host, they get streams, and health probes get a response. An address adds no more to the disk than documented.',
  needed: ['requests under attack', 'longest purchases taken', 'health probes'],
  whyNot,
  async round(round) {
    const [host, idle] = await Promise.all([
      startLoadedHost(round, 'attacked'),
      startLoadedHost(round, 'idle'),
    ])
    const trial = new Trial(round, host, idle, await Slowdown.start(round))
    await trial.warmUp()
    do await trial.attack()
    while (round.holds && !round.signal.aborted && (!round.isOver || trial.needsMore))
    await trial.judge()
  },
})

class Trial {
  readonly #round: Round
  readonly #host: LoadedHost
  readonly #idle: LoadedHost
  readonly #attack: Attack
  readonly #slowdown: Slowdown
  readonly #ratios: number[] = []
  readonly #mostRatio: number
  #byOthers = 0

  constructor(round: Round, host: LoadedHost, idle: LoadedHost, slowdown: Slowdown) {
    this.#round = round
    this.#host = host
    this.#idle = idle
    this.#slowdown = slowdown
    this.#mostRatio = round.isSlice ? MOST_RATIO_OF_A_SLICE : MOST_RATIO
    this.#attack = new Attack(Number(new URL(host.url).port))
    round.teardown(() => this.#attack.end())
  }

  get needsMore(): boolean {
    return median(this.#ratios) > this.#mostRatio && this.#ratios.length < ATTACKS_TO_JUDGE
  }

  async warmUp(): Promise<void> {
    await this.#shop(WARMING)
    this.#note('p99 before the attack, ms', (await this.#shop(WINDOW - WARMING))[0])
    this.#byOthers = await this.#slowed()
  }

  async attack(): Promise<void> {
    const { opened, refused } = await this.#attack.begin()
    this.#round.count('guests’ streams opened', opened)
    this.#round.count('guests’ streams refused', refused)
    await this.#openOwnStream('150 guests have theirs')
    const windows = [
      await this.#duringReaders('one address', readersFrom.one),
      await this.#duringReaders('14 addresses', readersFrom.many),
    ]
    const written = await this.#attack.rest()
    this.#round.figures.largest('longest purchases taken', written.taken)
    this.#round.figures.largest('longest purchases refused', written.refused)
    const [attacked, idle] = [windows.flatMap(([one]) => one), windows.flatMap(([, other]) => other)]
    const slower = windows.reduce((sum, [, , times]) => sum + times, 0) / windows.length
    this.#ratios.push(p99(attacked) / p99(idle) / slower)
    this.#round.count('attacks')
    this.#round.count('requests under attack', attacked.length)
    this.#note('p99 under attack, ms', attacked)
    this.#note('p99 in the idle host, ms', idle)
  }

  #note(figure: string, latencies: readonly number[]): void {
    const milliseconds = Math.round(p99(latencies) * 10) / 10
    this.#round.figures.largest(figure, milliseconds)
    this.#round.log(`${figure}: ${milliseconds}`)
  }

  async #slowed(): Promise<number> {
    return Math.min(MOST_SLOWDOWN, await this.#slowdown.take())
  }

  /** @returns the latencies of callers, in the attacked and the idle host */
  async #shop(milliseconds = WINDOW): Promise<readonly [readonly number[], readonly number[]]> {
    const [called, idle] = await Promise.all([this.#host.shop(milliseconds), this.#idle.shop(milliseconds)])
    for (const [said, times] of Object.entries(called.wrong))
      this.#round.fail(`${times} requests of callers: ${said}`)
    return [called.latencies, idle.latencies]
  }

  async #openOwnStream(when: string): Promise<void> {
    const { url, visitor } = this.#host
    const opened = await openStream(url, visitor, () => {}).catch(({ message }: Error) => message)
    if (typeof opened === 'string') this.#round.fail(`${when}: of a signed-in user, ${opened}`)
    else opened.drop()
  }

  /** @returns the latencies of callers during the attack in both hosts, and the slowdown */
  async #duringReaders(where: string, from: readonly string[]) {
    const { url, visitor } = this.#host
    const stop = new AbortController()
    const health = probe(url, stop.signal)
    const idleHealth = probe(this.#idle.url, stop.signal)
    const visits = probe(url, stop.signal, ['/cart'], visitor)
    // The host would end their connections while the others connect.
    await this.#shop(AGAIN)
    const came = performance.now()
    await this.#slowed()
    await this.#attack.bringReaders(from)
    const [attacked, idle] = await this.#shop()
    const times = await this.#slowed()
    const isServed = await this.#getsConnection(came + READER_PATIENCE * times)
    const took = Math.round(performance.now() - came)
    if (isServed) await this.#openOwnStream(`during readers at ${where}`)
    else this.#round.fail(`readers at ${where} took all connections for ${took} ms`)
    stop.abort()
    const [probed, idleProbed, visited] = await Promise.all([health, idleHealth, visits])
    await this.#attack.takeReadersAway()
    this.#round.count('health probes', probed.length)
    const slowest = Math.max(...idleProbed.map(({ milliseconds }) => milliseconds))
    const late = probed.filter(
      ({ said, milliseconds }) => said !== 200 || milliseconds > slowest + PROBE * times,
    )
    if (late.length > 0)
      this.#round.fail(
        `during readers at ${where} ${late.length} of ${probed.length} health probes were late or refused, such as ` +
          `${late[0]?.path}: ${late[0]?.said} after ${late[0]?.milliseconds} ms, ${slowest} ms in the idle host`,
      )
    const refused = visited.filter(({ said }) => said !== 200)
    this.#round.count('new connections of a signed-in caller', visited.length)
    if (refused.length > 0)
      this.#round.fail(
        `during readers at ${where} ${refused.length} of ${visited.length} new connections of a signed-in caller were refused: ${refused[0]?.said}`,
      )
    return [attacked, idle, times] as const
  }

  /** Whether a new connection of a signed-in caller is served in time. */
  async #getsConnection(until: number): Promise<boolean> {
    while (performance.now() < until) {
      const { said } = await probeOnce(this.#host.url, '/cart', this.#host.visitor)
      if (said === 200) return true
      await pause(100)
    }
    return false
  }

  /** After the stop of the host, which copies the log of SQLite into its file. */
  async judge(): Promise<void> {
    // Nobody attacks and nobody shops.
    await this.#slowed()
    await pause(1_000)
    const byOthers = Math.max(this.#byOthers, await this.#slowed())
    const { allowances } = this.#attack
    await this.#host.stop()
    const growth = Math.round((await stat(this.#host.database)).size / allowances)
    const ratio = median(this.#ratios)
    const { figures } = this.#round
    figures.largest('ratio of the two, corrected by the slowdown, percent', Math.round(ratio * 100))
    figures.largest('disk growth by attacking address and minute, kB', Math.round(growth / 1_000))
    if (ratio > this.#mostRatio)
      this.#round.fail(`the p99 of signed-in callers is ${ratio.toFixed(1)} times that in the idle host`)
    if (growth > MOST_GROWTH)
      this.#round.fail(`an address adds ${growth} bytes per minute to the disk, limit ${MOST_GROWTH}`)
    if (!this.#round.holds && byOthers > MOST_BY_OTHERS)
      this.#round.skipped = `other work slows this machine ${byOthers.toFixed(1)} times: ${this.#round.failures.join('; ')}`
  }
}

async function whyNot(): Promise<string | undefined> {
  const run = promisify(execFile)
  const { stdout } = await run('sh', ['-c', 'ulimit -Hn'])
  if (Number(stdout) < OPEN_FILES)
    return `a process may open ${stdout.trim()} files (ulimit -Hn), and ${OPEN_FILES} are needed`
  const perl = await run('perl', ['-MSocket', '-e', '1']).catch(() => undefined)
  if (perl === undefined) return 'perl is missing'
  const server = createServer().listen(0, '127.0.0.2')
  const hasAddresses = await once(server, 'listening').catch(() => undefined)
  server.close()
  return hasAddresses === undefined ? 'this machine has no address 127.0.0.2' : undefined
}

function p99(latencies: readonly number[]): number {
  const sorted = latencies.toSorted((one, other) => one - other)
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 0
}

function median(ratios: readonly number[]): number {
  const sorted = ratios.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
