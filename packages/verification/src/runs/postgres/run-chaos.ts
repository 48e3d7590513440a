import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type CuttableProxy, startProxy } from '../../../../storage/test/postgres/proxy.ts'
import {
  freePort,
  startPostgres,
  type TestPostgres,
} from '../../../../storage/test/postgres/start-postgres.ts'
import { Child } from '../../harness/child.ts'
import { hostServer } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { type Fault, faults } from './faults.ts'
import { WatchedHost } from './watched-host.ts'
import { Writer } from './writer.ts'

/**
 * A restart of the killed database, a promotion of its synchronous standby after a kill, or a fault.
 */
export const kinds = ['restart', 'promote', ...(Object.keys(faults) as (keyof typeof faults)[])] as const
type Kind = (typeof kinds)[number]

export interface ChaosOptions {
  /** Called before each round except the first. */
  readonly isOver: (rounds: number) => boolean
  /** The number of writers, half of them at each of two hosts. */
  readonly clients: number
  readonly seed: number
  /** Called for every round and failure. */
  readonly onProgress?: (text: string) => void
}

/** One round. Times are in milliseconds, of the slower host. */
export interface Round {
  readonly kind: Kind
  /** Until it reported not ready, if it had to. */
  readonly notReady: number | undefined
  /** From the end of the fault until it was ready and wrote. */
  readonly recovery: number
  /** Log lines of a host, at most. */
  readonly lines: number
}

export interface ChaosReport extends Outcome {
  readonly rounds: readonly Round[]
}

/** Time limit for the hosts to notice, and to write again, in milliseconds. */
const LIMIT = 5_000
/** Time limit for each response, in milliseconds. */
const RESPONSE_LIMIT = 8_000
/** Concurrent requests of a caller. */
const CROWD = 10
/** Log lines per host and round, at most. */
const LINES_LIMIT = 25
/** Fewer than two hosts need. */
const MAX_CONNECTIONS = 30

/**
 * Takes the database away from two hosts repeatedly while callers write. One host knows both
 * addresses of the database, the other knows one address that moves.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const cleanUps: (() => unknown)[] = []
  try {
    return await new Chaos(options, (cleanUp) => cleanUps.unshift(cleanUp)).run()
  } finally {
    for (const cleanUp of cleanUps) await cleanUp()
  }
}

class Chaos {
  readonly #options: ChaosOptions
  readonly #random: Random
  readonly #onEnd: (cleanUp: () => unknown) => void
  readonly #failures: string[] = []
  #database: TestPostgres | undefined
  /** The port of the next standby. */
  #spare = 0
  /** Proxies: to the primary, to the other address of the first host, and the moving address. */
  #proxies: CuttableProxy[] = []
  #hosts: WatchedHost[] = []

  constructor(options: ChaosOptions, onEnd: (cleanUp: () => unknown) => void) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#onEnd = onEnd
  }

  async run(): Promise<ChaosReport> {
    this.#database = await startPostgres({ durable: true, maxConnections: MAX_CONNECTIONS })
    this.#onEnd(async () => this.#database?.stop())
    this.#spare = await freePort()
    const spareUrl = Object.assign(new URL(this.#database.url), { port: this.#spare }).href
    for (const url of [this.#database.url, spareUrl, this.#database.url]) {
      this.#proxies.push(await startProxy({ teardown: this.#onEnd }, url))
    }
    await this.#startHosts()
    const writers = this.#hosts.flatMap(({ writers }) => writers)
    const rounds: Round[] = []
    const first = this.#options.seed
    do {
      const kind = kinds[(first + rounds.length) % kinds.length] as Kind
      for (const writer of writers) writer.start()
      for (const host of this.#hosts) host.lines = 0
      const times = await this.#round(kind)
      await Promise.all(writers.map((writer) => writer.stop()))
      await Promise.all(writers.map((writer) => writer.check()))
      const lines = Math.max(...this.#hosts.map((host) => host.lines))
      if (lines > LINES_LIMIT) this.#fail(`${kind}: a host logged ${lines} lines`)
      rounds.push({ kind, lines, ...times })
      this.#options.onProgress?.(
        `round ${rounds.length}, ${kind}: not ready after ${times.notReady ?? '-'} ms, written again after ${times.recovery} ms, ${lines} lines, ${this.#failures.length} failures`,
      )
    } while (!this.#options.isOver(rounds.length))
    const slowest = Math.round(Math.max(...writers.map((writer) => writer.slowest)))
    if (slowest > RESPONSE_LIMIT) this.#fail(`the slowest write took ${slowest} ms`)
    const figures = {
      rounds: rounds.length,
      'writes acknowledged': this.#sum('acknowledged'),
      'writes refused': this.#sum('refused'),
      'writes of unknown outcome': this.#sum('unknown'),
      lost: this.#sum('lost'),
      doubled: this.#sum('doubled'),
      'slowest response, ms': slowest,
    }
    return { rounds, figures, failures: this.#failures }
  }

  #sum(key: 'acknowledged' | 'refused' | 'unknown' | 'lost' | 'doubled'): number {
    return this.#hosts.flatMap(({ writers }) => writers).reduce((total, writer) => total + writer[key], 0)
  }

  async #startHosts(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-chaos-'))
    this.#onEnd(() => rm(folder, { recursive: true, force: true }))
    const directory = join(folder, 'application')
    await mkdir(directory)
    const application = await prepareApplication(directory, ['@mortise/api-cart', '@mortise/api-purchase'])
    const tokens = await mintUsers(application, this.#options.clients)
    const [serving, other, moving] = this.#proxies as [CuttableProxy, CuttableProxy, CuttableProxy]
    const both = serving.url.replace(/@([^/]+)/, `@$1,${new URL(other.url).host}`)
    for (const [index, database] of [both, moving.url].entries()) {
      const own = join(folder, `host-${index}`)
      await cp(directory, own, { recursive: true })
      let host: WatchedHost | undefined
      const child = new Child(hostServer, (line) => {
        if (host) host.lines += 1
        // For example the reason why it cannot start.
        if (!line.startsWith('{')) process.stderr.write(`${line}\n`)
      })
      this.#onEnd(() => child.stop())
      const environment = { APP_LOG_LEVEL: 'info' }
      const { url } = await child.ask<{ url: string }>({ directory: own, database, environment })
      const writers = tokens
        .filter((_, number) => number % 2 === index)
        .map((token, number) => {
          const random = new Random(this.#options.seed * 1000 + index * 500 + number)
          return new Writer({ url, token, random, onFailure: (text) => this.#fail(text) })
        })
      this.#onEnd(() => Promise.all(writers.map((writer) => writer.stop())))
      const watched = new WatchedHost(url, writers, (text) => this.#fail(text))
      host = watched
      this.#onEnd(() => watched.stop())
      this.#hosts.push(watched)
    }
  }

  async #round(kind: Kind): Promise<Pick<Round, 'notReady' | 'recovery'>> {
    const begun = performance.now()
    await this.#eventually(`${kind}: wrote before the fault`, (host) => host.hasWrittenSince(begun))
    await pause(this.#random.between(0, 400))
    return kind === 'restart' || kind === 'promote'
      ? this.#kill(kind === 'promote')
      : this.#trouble(kind, faults[kind])
  }

  async #trouble(kind: Kind, fault: Fault): Promise<Pick<Round, 'notReady' | 'recovery'>> {
    const { isOutage } = fault
    const [database, proxies, random] = [this.#database as TestPostgres, this.#proxies, this.#random]
    const begun = performance.now()
    for (const host of this.#hosts) host.wasReady = true
    const before = this.#sum('refused')
    const end = await fault.begin({ database, proxies, random })
    let notReady: number | undefined
    try {
      if (isOutage) {
        await this.#eventually(`${kind}: reported not ready`, (host) => !host.ready)
        notReady = Math.round(performance.now() - begun)
        await pause(random.between(0, 1_000))
      } else {
        const since = performance.now()
        await this.#crowd(kind)
        await this.#eventually(`${kind}: wrote during the fault`, (host) => host.hasWrittenSince(since))
      }
    } finally {
      await end()
    }
    const recovery = await this.#recovery(kind)
    if (isOutage) return { notReady, recovery }
    if (this.#hosts.some((host) => !host.wasReady)) this.#fail(`${kind}: a host reported not ready`)
    const refused = this.#sum('refused') - before
    if (refused > 0) this.#fail(`${kind}: ${refused} writes were refused`)
    return { notReady, recovery }
  }

  /** Concurrent reads that need more connections than available. */
  async #crowd(kind: Kind): Promise<void> {
    const writers = this.#hosts.flatMap(({ writers }) => writers)
    const looks = writers.flatMap((writer) => Array.from({ length: CROWD }, () => writer.look()))
    const failed = (await Promise.all(looks)).filter((status) => status !== 200)
    if (failed.length > 0)
      this.#fail(`${kind}: ${failed.length} of ${looks.length} reads failed: ${failed[0]}`)
  }

  async #kill(isPromoted: boolean): Promise<Pick<Round, 'notReady' | 'recovery'>> {
    const previous = this.#database as TestPostgres
    const standby = isPromoted ? await previous.startStandby(this.#spare) : undefined
    const begun = performance.now()
    await previous.kill()
    const moving = this.#proxies.at(-1)
    if (standby) {
      this.#database = standby
      this.#spare = Number(new URL(previous.url).port)
      this.#onEnd(() => previous.stop())
      // The address may move before the standby is promoted, or after.
      if (this.#random.chance(0.5)) moving?.point(standby.url)
    }
    await this.#eventually('reported not ready', (host) => !host.ready)
    const notReady = Math.round(performance.now() - begun)
    await pause(this.#random.between(0, 1_000))
    await (standby ? standby.promote() : previous.restart())
    if (standby) moving?.point(standby.url)
    const recovery = await this.#recovery('killed')
    if (standby) await previous.stop()
    return { notReady, recovery }
  }

  /** @returns the time until the hosts wrote again, in milliseconds */
  async #recovery(kind: string): Promise<number> {
    const back = performance.now()
    await this.#eventually(
      `${kind}: was ready and wrote again`,
      (host) => host.ready && host.hasWrittenSince(back),
    )
    return Math.round(performance.now() - back)
  }

  async #eventually(what: string, holds: (host: WatchedHost) => boolean): Promise<void> {
    const begun = performance.now()
    while (!this.#hosts.every(holds)) {
      await pause(5)
      if (performance.now() - begun < LIMIT) continue
      for (const host of this.#hosts.filter((host) => !holds(host))) {
        this.#fail(`${host.url} never ${what} within ${LIMIT} ms`)
      }
      return
    }
  }

  #fail(text: string): void {
    this.#failures.push(text)
    this.#options.onProgress?.(`failed: ${text}`)
  }
}
