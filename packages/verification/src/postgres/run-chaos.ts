import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type CuttableProxy, startProxy } from '../../../../host/test/storage/postgres/proxy.ts'
import {
  freePort,
  startPostgres,
  type TestPostgres,
} from '../../../../host/test/storage/postgres/start-postgres.ts'
import { Child } from '../harness/child.ts'
import { hostServer } from '../harness/host-group.ts'
import { mintUsers } from '../harness/mint-users.ts'
import { prepareApplication } from '../harness/prepare-application.ts'
import { Random } from '../harness/random.ts'
import { Writer } from './writer.ts'

/** What happens to the database: killed and started again, or killed and its synchronous standby promoted. */
export const kinds = ['restart', 'promote'] as const
export type Kind = (typeof kinds)[number]

export interface ChaosOptions {
  /** They take turns in `kinds`. */
  readonly rounds: number
  /** Who write at once, half of them at each of two hosts. */
  readonly clients: number
  readonly seed: number
  /** Hears of every round, and of every failure. */
  readonly onProgress?: (text: string) => void
}

export interface ChaosReport {
  readonly acknowledged: number
  /** Answered with 503. */
  readonly refused: number
  readonly unknown: number
  /** Of those of unknown outcome, the ones that were done. */
  readonly unknownDone: number
  /** By kind, for each round the milliseconds from the database being back until both hosts had written. */
  readonly recovery: Readonly<Record<Kind, number[]>>
  readonly failures: readonly string[]
}

/** How long the hosts may take to notice, and to write again, in milliseconds. */
const LIMIT = 5_000

/**
 * Takes the database away from two hosts, again and again, while callers write. One host knows both addresses of the
 * database, the other one address that moves.
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
  readonly #recovery: Record<Kind, number[]> = { restart: [], promote: [] }
  #database: TestPostgres | undefined
  /** What the standby of the next round listens on. */
  #spare = 0
  #hosts: Host[] = []

  constructor(options: ChaosOptions, onEnd: (cleanUp: () => unknown) => void) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#onEnd = onEnd
  }

  async run(): Promise<ChaosReport> {
    this.#database = await startPostgres({ durable: true })
    this.#onEnd(async () => this.#database?.stop())
    const proxy = await startProxy({ teardown: this.#onEnd }, this.#database.url)
    await this.#startHosts(proxy)
    const writers = this.#hosts.flatMap(({ writers }) => writers)
    for (let round = 0; round < this.#options.rounds; round++) {
      for (const writer of writers) writer.start()
      const kind = kinds[round % kinds.length] as Kind
      const recovery = await this.#round(kind, proxy)
      await Promise.all(writers.map((writer) => writer.stop()))
      await Promise.all(writers.map((writer) => writer.check()))
      this.#recovery[kind].push(recovery)
      this.#options.onProgress?.(
        `round ${round + 1}, ${kind}: written again after ${recovery} ms, ${this.#failures.length} failures`,
      )
    }
    const sum = (key: 'acknowledged' | 'refused' | 'unknown' | 'unknownDone') =>
      writers.reduce((total, writer) => total + writer[key], 0)
    return {
      acknowledged: sum('acknowledged'),
      refused: sum('refused'),
      unknown: sum('unknown'),
      unknownDone: sum('unknownDone'),
      recovery: this.#recovery,
      failures: this.#failures,
    }
  }

  async #startHosts(proxy: CuttableProxy): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'mortise-chaos-'))
    this.#onEnd(() => rm(folder, { recursive: true, force: true }))
    const directory = join(folder, 'application')
    await mkdir(directory)
    const application = await prepareApplication(directory, ['@mortise/api-cart', '@mortise/api-purchase'])
    const tokens = await mintUsers(application, this.#options.clients)
    this.#spare = await freePort()
    const both = (this.#database as TestPostgres).url.replace(/@([^/]+)/, `@$1,127.0.0.1:${this.#spare}`)
    for (const [index, database] of [both, proxy.url].entries()) {
      const own = join(folder, `host-${index}`)
      await cp(directory, own, { recursive: true })
      const child = new Child(hostServer)
      this.#onEnd(() => child.stop())
      const { url } = await child.ask<{ url: string }>({ directory: own, database })
      const writers = tokens
        .filter((_, number) => number % 2 === index)
        .map((token, number) => {
          const random = new Random(this.#options.seed * 1000 + index * 500 + number)
          return new Writer({ url, token, random, onFailure: (text) => this.#fail(text) })
        })
      this.#onEnd(() => Promise.all(writers.map((writer) => writer.stop())))
      const host = new Host(url, writers, (text) => this.#fail(text))
      this.#onEnd(() => host.stop())
      this.#hosts.push(host)
    }
  }

  /** @returns how long the hosts took until they had written again, in milliseconds */
  async #round(kind: Kind, proxy: CuttableProxy): Promise<number> {
    const former = this.#database as TestPostgres
    const standby = kind === 'promote' ? await former.startStandby(this.#spare) : undefined
    await this.#eventually('wrote', (host) => host.hasWrittenSince(0))
    await pause(this.#random.between(0, 400))
    await former.kill()
    if (standby) {
      this.#database = standby
      this.#spare = Number(new URL(former.url).port)
      this.#onEnd(() => former.stop())
      // The address may move before the standby is promoted, or after.
      if (this.#random.chance(0.5)) proxy.point(standby.url)
    }
    await this.#eventually('said that it is not ready', (host) => !host.ready)
    await pause(this.#random.between(0, 1_000))
    await (standby ? standby.promote() : former.restart())
    if (standby) proxy.point(standby.url)
    const back = performance.now()
    await this.#eventually('was ready and wrote again', (host) => host.ready && host.hasWrittenSince(back))
    const recovery = Math.round(performance.now() - back)
    if (standby) await former.stop()
    return recovery
  }

  async #eventually(what: string, holds: (host: Host) => boolean): Promise<void> {
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

/** Asks a host how it is, again and again. */
class Host {
  readonly url: string
  readonly writers: readonly Writer[]
  readonly #watching: Promise<void>
  readonly #onFailure: (text: string) => void
  #stopped = false
  ready = true

  constructor(url: string, writers: readonly Writer[], onFailure: (text: string) => void) {
    this.url = url
    this.writers = writers
    this.#onFailure = onFailure
    this.#watching = this.#watch()
  }

  /** @param time by `performance.now()` */
  hasWrittenSince(time: number): boolean {
    return this.writers.some(({ last }) => last > time)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#watching
  }

  async #watch(): Promise<void> {
    const status = async (path: string) => {
      const response = await fetch(`${this.url}${path}`)
      await response.arrayBuffer()
      return response.status
    }
    while (!this.#stopped) {
      try {
        const live = await status('/health/live')
        if (live !== 200) this.#onFailure(`${this.url} says with ${live} that it does not live`)
        this.ready = (await status('/health/ready')) === 200
      } catch (error) {
        this.#onFailure(`${this.url} does not answer: ${(error as Error).cause ?? error}`)
        return
      }
      await pause(10)
    }
  }
}
