import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type CuttableProxy, startProxy } from '../../../../storage/test/postgres/proxy.ts'
import {
  freePort,
  startPostgres,
  type TestPostgres,
} from '../../../../storage/test/postgres/start-postgres.ts'
import { defineRun } from '../../harness/define-run.ts'
import { copiesOf } from '../../harness/host-group.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import type { Round } from '../../harness/round.ts'
import type { Shopper } from '../../harness/shopper.ts'
import { until } from '../../harness/until.ts'
import { type Fault, faults } from './faults.ts'
import { WatchedHost } from './watched-host.ts'

/** A restart of the killed database, a promotion of its synchronous standby after a kill, or a fault. */
const kinds = ['restart', 'promote', ...(Object.keys(faults) as (keyof typeof faults)[])] as const
type Kind = (typeof kinds)[number]

/** Faults of a slice; the seed chooses the first kind. */
const SLICE = 2
const CLIENTS = 8
/** Time limit for the hosts to notice, and to write again, in milliseconds. */
const LIMIT = 5_000
/** Time limit for each response, in milliseconds. */
const RESPONSE_LIMIT = 8_000
/** Concurrent requests of a caller. */
const CROWD = 10
/** Log lines per host and fault, at most. */
const LINES_LIMIT = 25
/** Fewer than two hosts need. */
const MAX_CONNECTIONS = 30

/**
 * Takes the database away from two hosts repeatedly while callers write. One host knows both
 * addresses of the database, the other knows one address that moves.
 */
export const postgres = defineRun({
  promise:
    'No acknowledged write is lost or duplicated when PostgreSQL is killed, promoted, frozen, cut off, slow or out of connections. Hosts report it within 5 s, and write again within 5 s.',
  needed: ['writes acknowledged'],
  async round(round) {
    const chaos = await Chaos.start(round)
    for (let count = 0; count < SLICE || !round.isOver; count += 1)
      await chaos.try(kinds[(round.seed + count) % kinds.length] as Kind)
    const { shoppers } = chaos
    const slowest = Math.round(Math.max(...shoppers.map((shopper) => shopper.slowest)))
    if (slowest > RESPONSE_LIMIT) round.fail(`the slowest write took ${slowest} ms`)
    round.figures.largest('slowest response, ms', slowest)
    for (const shopper of shoppers) {
      round.count('writes acknowledged', shopper.count('done'))
      round.count('writes refused', shopper.denied)
    }
  },
})

class Chaos {
  readonly #round: Round
  #database: TestPostgres
  /** The port of the next standby. */
  #spare: number
  /** Proxies: to the primary, to the other address of the first host, and the moving address. */
  #proxies: CuttableProxy[] = []
  #hosts: WatchedHost[] = []

  private constructor(round: Round, database: TestPostgres, spare: number) {
    this.#round = round
    this.#database = database
    this.#spare = spare
  }

  static async start(round: Round): Promise<Chaos> {
    const database = await startPostgres({ durable: true, maxConnections: MAX_CONNECTIONS })
    const chaos = new Chaos(round, database, await freePort())
    round.teardown(() => chaos.#database.stop())
    const spareUrl = Object.assign(new URL(database.url), { port: chaos.#spare }).href
    for (const url of [database.url, spareUrl, database.url])
      chaos.#proxies.push(await startProxy(round, url))
    const [serving, other, moving] = chaos.#proxies as [CuttableProxy, CuttableProxy, CuttableProxy]
    const both = serving.url.replace(/@([^/]+)/, `@$1,${new URL(other.url).host}`)
    const directory = join(round.folder, 'application')
    const application = await prepareApplication(directory, ['@mortise/api-cart', '@mortise/api-purchase'])
    const tokens = await mintUsers(application, CLIENTS)
    const addresses = [both, moving.url]
    const copies = await copiesOf(directory, addresses)
    for (const [index, copy] of copies.entries()) {
      const own = tokens.filter((_, number) => number % 2 === index)
      chaos.#hosts.push(await WatchedHost.start(round, copy, addresses[index] as string, own))
    }
    return chaos
  }

  get shoppers(): Shopper[] {
    return this.#hosts.flatMap(({ shoppers }) => shoppers.all)
  }

  /** One fault during writes; then exactly the acknowledged ones must be there. */
  async try(kind: Kind): Promise<void> {
    for (const host of this.#hosts) {
      host.lines = 0
      host.shoppers.start(host.url)
    }
    const begun = performance.now()
    await this.#eventually(`${kind}: wrote before the fault`, (host) => host.hasWrittenSince(begun))
    await pause(this.#round.random.between(0, 400))
    if (kind === 'restart' || kind === 'promote') await this.#kill(kind)
    else await this.#trouble(kind, faults[kind])
    for (const { shoppers } of this.#hosts) await shoppers.stop()
    for (const { shoppers, url } of this.#hosts)
      this.#round.fail(...(await shoppers.check()).map((text) => `${kind}: ${url}: ${text}`))
    const lines = Math.max(...this.#hosts.map((host) => host.lines))
    if (lines > LINES_LIMIT) this.#round.fail(`${kind}: a host logged ${lines} lines`)
    this.#round.count(`${kind}: faults`)
    this.#round.figures.largest(`${kind}: log lines of a host (most)`, lines)
    this.#round.log(`${kind}: ${lines} lines, ${this.#round.failures.length} failures`)
  }

  async #trouble(kind: Kind, fault: Fault): Promise<void> {
    const { isOutage } = fault
    const [database, proxies, random] = [this.#database, this.#proxies, this.#round.random]
    const begun = performance.now()
    for (const host of this.#hosts) host.wasReady = true
    const before = this.#refused()
    const end = await fault.begin({ database, proxies, random })
    try {
      if (isOutage) await this.#noticed(kind, begun)
      else {
        const since = performance.now()
        await this.#crowd(kind)
        await this.#eventually(`${kind}: wrote during the fault`, (host) => host.hasWrittenSince(since))
      }
    } finally {
      await end()
    }
    await this.#recovered(kind)
    if (isOutage) return
    if (this.#hosts.some((host) => !host.wasReady)) this.#round.fail(`${kind}: a host reported not ready`)
    const refused = this.#refused() - before
    if (refused > 0) this.#round.fail(`${kind}: ${refused} writes were refused`)
  }

  #refused(): number {
    return this.shoppers.reduce((sum, { denied }) => sum + denied, 0)
  }

  /** Concurrent reads that need more connections than available. */
  async #crowd(kind: Kind): Promise<void> {
    const looks = this.shoppers.flatMap(({ caller }) =>
      Array.from({ length: CROWD }, () => caller.get('/purchase?rpp=1')),
    )
    const failed = (await Promise.all(looks)).filter(({ status }) => status !== 200)
    if (failed.length > 0)
      this.#round.fail(`${kind}: ${failed.length} of ${looks.length} reads failed: ${failed[0]?.status}`)
  }

  async #kill(kind: 'restart' | 'promote'): Promise<void> {
    const { random } = this.#round
    const previous = this.#database
    const standby = kind === 'promote' ? await previous.startStandby(this.#spare) : undefined
    const begun = performance.now()
    await previous.kill()
    const moving = this.#proxies.at(-1)
    if (standby) {
      this.#database = standby
      this.#spare = Number(new URL(previous.url).port)
      this.#round.teardown(() => previous.stop())
      // The address may move before the standby is promoted, or after.
      if (random.chance(0.5)) moving?.point(standby.url)
    }
    await this.#noticed(kind, begun)
    await (standby ? standby.promote() : previous.restart())
    if (standby) moving?.point(standby.url)
    await this.#recovered(kind)
    if (standby) await previous.stop()
  }

  async #noticed(kind: Kind, begun: number): Promise<void> {
    await this.#eventually(`${kind}: reported not ready`, (host) => !host.ready)
    this.#round.figures.largest(`${kind}: not ready, ms (most)`, Math.round(performance.now() - begun))
    await pause(this.#round.random.between(0, 1_000))
  }

  async #recovered(kind: Kind): Promise<void> {
    const back = performance.now()
    await this.#eventually(
      `${kind}: was ready and wrote again`,
      (host) => host.ready && host.hasWrittenSince(back),
    )
    this.#round.figures.largest(`${kind}: writes again, ms (most)`, Math.round(performance.now() - back))
  }

  async #eventually(what: string, holds: (host: WatchedHost) => boolean): Promise<void> {
    if (await until(() => this.#hosts.every(holds), LIMIT, 5)) return
    for (const host of this.#hosts.filter((host) => !holds(host)))
      this.#round.fail(`${host.url} never ${what} within ${LIMIT} ms`)
  }
}
