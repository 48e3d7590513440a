import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { outcome, skipped } from '../../harness/repeat.ts'
import type { Outcome, RunOptions } from '../../harness/verification.ts'
import { probe, probeOnce } from '../overload/probe.ts'
import { openStream } from '../streams/stream.ts'
import { Attack, readersFrom } from './attack.ts'
import { LoadedHost } from './loaded-host.ts'
import { Slowdown } from './slowdown.ts'

/**
 * The largest ratio of the p99 of signed-in callers in the attacked host to that in an idle host. The
 * idle host runs beside the attacked one with the same load at the same time, so other work of the
 * machine slows both. The attackers keep a fixed pace, so they do not compete for cores. The median
 * of the rounds counts; a higher one needs up to two more rounds. Each ratio is divided by the
 * slowdown of the machine: elapsed time by CPU time of a piece of work.
 */
const MOST_RATIO = 2
/** In a slice, whose few requests only show whether a defence is missing. */
const MOST_RATIO_OF_A_SLICE = 4
const ROUNDS_TO_JUDGE = 3
/**
 * The slowdown without an attack, by other work on the machine, from which on a failure means
 * nothing: then the run is skipped. The attackers cannot cause it, since they rest meanwhile.
 */
const MOST_BY_OTHERS = 3
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

/** Attacks a host while signed-in callers shop. @param directory an empty folder */
export async function runShares(
  directory: string,
  { minutes, signal, onProgress }: Pick<RunOptions, 'minutes' | 'signal' | 'onProgress'>,
): Promise<Outcome> {
  const failures: string[] = []
  const ratios: number[] = []
  const latencies = { before: [] as number[], idle: [] as number[], attacked: [] as number[] }
  const figures: Record<string, number> = { rounds: 0 }
  const mostRatio = minutes > 0 ? MOST_RATIO : MOST_RATIO_OF_A_SLICE
  const count = (name: string, more: number) => {
    figures[name] = (figures[name] ?? 0) + more
  }
  const [host, idleHost] = (await Promise.all(
    ['attacked', 'idle'].map((name) => LoadedHost.start(join(directory, name))),
  )) as [LoadedHost, LoadedHost]
  const { url, visitor } = host
  const attack = new Attack(host.port)
  const slowdown = await Slowdown.start()
  try {
    const end = performance.now() + minutes * 60_000
    await shop(WARMING)
    latencies.before.push(...(await shop(WINDOW - WARMING))[0])
    const before = await slowdown.take()
    do await round()
    while (
      failures.length === 0 &&
      !signal.aborted &&
      (performance.now() < end || (median(ratios) > mostRatio && ratios.length < ROUNDS_TO_JUDGE))
    )
    const byOthers = Math.max(before, await whileAttackersRest())
    const judged = await judge()
    return judged.failures.length > 0 && byOthers > MOST_BY_OTHERS
      ? skipped(`other work slows this machine ${byOthers.toFixed(1)} times: ${judged.failures.join('; ')}`)
      : judged
  } finally {
    slowdown.stop()
    await attack.end()
    await Promise.all([host.kill(), idleHost.kill()])
  }

  async function round(): Promise<void> {
    const { opened, refused } = await attack.begin()
    count('guests’ streams opened', opened)
    count('guests’ streams refused', refused)
    await openOwnStream('150 guests have theirs')
    const windows = [
      await duringReaders('one address', readersFrom.one),
      await duringReaders('14 addresses', readersFrom.many),
    ]
    const written = await attack.rest()
    figures['longest purchases taken'] = written.taken
    figures['longest purchases refused'] = written.refused
    const [attacked, idle] = [windows.flatMap(([one]) => one), windows.flatMap(([, other]) => other)]
    const slower = windows.reduce((sum, [, , times]) => sum + times, 0) / windows.length
    ratios.push(p99(attacked) / p99(idle) / slower)
    latencies.attacked.push(...attacked)
    latencies.idle.push(...idle)
    count('rounds', 1)
    onProgress(
      `p99 ${p99(attacked).toFixed(1)} ms under attack, ${p99(idle).toFixed(1)} ms in the idle host, slowdown ${slower.toFixed(1)}`,
    )
  }

  /** @returns the slowdown while nobody attacks and nobody shops */
  async function whileAttackersRest(): Promise<number> {
    await slowdown.take()
    await pause(1_000)
    return slowdown.take()
  }

  /** @returns the latencies of callers, in the attacked and the idle host */
  async function shop(milliseconds = WINDOW): Promise<readonly [readonly number[], readonly number[]]> {
    const [called, calledIdle] = await Promise.all([host.shop(milliseconds), idleHost.shop(milliseconds)])
    for (const [said, times] of Object.entries(called.wrong))
      failures.push(`${times} requests of callers: ${said}`)
    return [called.latencies, calledIdle.latencies]
  }

  async function openOwnStream(when: string): Promise<void> {
    const opened = await openStream(url, visitor, () => {}).catch(({ message }: Error) => message)
    if (typeof opened === 'string') failures.push(`${when}: of a signed-in user, ${opened}`)
    else opened.drop()
  }

  /** @returns the latencies of callers during the attack in both hosts, and the slowdown */
  async function duringReaders(where: string, from: readonly string[]) {
    const stop = new AbortController()
    const health = probe(url, stop.signal)
    const idleHealth = probe(idleHost.url, stop.signal)
    const visits = probe(url, stop.signal, ['/cart'], visitor)
    // The host would end their connections while the others connect.
    await shop(AGAIN)
    const came = performance.now()
    await slowdown.take()
    await attack.bringReaders(from)
    const [attacked, idle] = await shop()
    const times = await slowdown.take()
    const isServed = await getsConnection(came + READER_PATIENCE * times)
    const took = Math.round(performance.now() - came)
    if (isServed) await openOwnStream(`during readers at ${where}`)
    else failures.push(`readers at ${where} took all connections for ${took} ms`)
    stop.abort()
    const [probed, idleProbed, visited] = await Promise.all([health, idleHealth, visits])
    await attack.takeReadersAway()
    count('health probes', probed.length)
    const slowest = Math.max(...idleProbed.map(({ milliseconds }) => milliseconds))
    const late = probed.filter(
      ({ said, milliseconds }) => said !== 200 || milliseconds > slowest + PROBE * times,
    )
    if (late.length > 0)
      failures.push(
        `during readers at ${where} ${late.length} of ${probed.length} health probes were late or refused, such as ` +
          `${late[0]?.path}: ${late[0]?.said} after ${late[0]?.milliseconds} ms, ${slowest} ms in the idle host`,
      )
    const refused = visited.filter(({ said }) => said !== 200)
    count('new connections of a signed-in caller', visited.length)
    if (refused.length > 0)
      failures.push(
        `during readers at ${where} ${refused.length} of ${visited.length} new connections of a signed-in caller were refused: ${refused[0]?.said}`,
      )
    return [attacked, idle, times] as const
  }

  /** Whether a new connection of a signed-in caller is served in time. */
  async function getsConnection(until: number): Promise<boolean> {
    while (performance.now() < until) {
      const { said } = await probeOnce(url, '/cart', visitor)
      if (said === 200) return true
      await pause(100)
    }
    return false
  }

  /** After the stop of the host, which copies the log of SQLite into its file. */
  async function judge(): Promise<Outcome> {
    const { allowances } = attack
    await host.stop()
    const growth = (await stat(host.database)).size / allowances
    const ratio = median(ratios)
    const ms = (latencies: readonly number[]) => Math.round(p99(latencies) * 10) / 10
    Object.assign(figures, {
      'requests under attack': latencies.attacked.length,
      'p99 before the attack, ms': ms(latencies.before),
      'p99 in the idle host, ms': ms(latencies.idle),
      'p99 under attack, ms': ms(latencies.attacked),
      'ratio of the two, corrected by the slowdown, percent': Math.round(ratio * 100),
      'disk growth by attacking address and minute, kB': Math.round(growth / 1_000),
    })
    if (ratio > mostRatio)
      failures.push(`the p99 of signed-in callers is ${ratio.toFixed(1)} times that in the idle host`)
    if (growth > MOST_GROWTH)
      failures.push(
        `an address adds ${Math.round(growth / 1_000)} kB per minute to the disk, limit ${Math.round(MOST_GROWTH / 1_000)}`,
      )
    return outcome(figures, failures, ['requests under attack', 'longest purchases taken', 'health probes'])
  }
}

function p99(latencies: readonly number[]): number {
  const sorted = latencies.toSorted((one, other) => one - other)
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 0
}

function median(ratios: readonly number[]): number {
  const sorted = ratios.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
