import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile, mintToken } from '@mortise/host'
import { bearer, Caller } from '../../harness/caller.ts'
import { Child } from '../../harness/child.ts'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import { startReceiver } from '../../harness/receiver.ts'
import type { Round } from '../../harness/round.ts'
import { Shopper } from '../../harness/shopper.ts'
import { until } from '../../harness/until.ts'
import { shiftTimes } from './shift-times.ts'

const HOUR = 3_600_000
/**
 * The clock's lead, chosen at random. All are below five days of failure, which disable a webhook.
 */
const AHEAD = [2 * HOUR, 20 * HOUR, 96 * HOUR, -2 * HOUR, -20 * HOUR, -96 * HOUR]
const PHASES = 4
const PHASE = 700
const SHOPPERS = 6
/** The number of deliveries that fail at first. */
const FAILING = 3
/**
 * Everything must arrive this soon after the last start, in milliseconds: a retry takes six
 * seconds, a lease ten.
 */
const SOON = 20_000

const server = new URL('clock-server.ts', import.meta.url)

/** Callers buy while the clock jumps and the host is killed. */
export const clock = defineRun({
  promise:
    'While a clock jumps hours or days forwards and backwards and hosts are killed, no acknowledged write is lost or done twice, and lists keep their order. Every event reaches its webhook soon after the clock is right.',
  needed: ['purchases', 'deliveries', 'jumps', 'kills', 'repetitions'],
  engines: ({ isSlice }) => (isSlice ? ['sqlite'] : onBothEngines()),
  async round(round) {
    const { random, agent, seed } = round
    const directory = join(round.folder, 'application')
    const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
    const { issuer, secret } = await prepareApplication(directory, modules)
    await allowLoopback(directory)
    const host = new JumpingHost(round, directory)
    await host.start(0)
    const callerOf = async (subject: string, scope?: string) => {
      const key = { issuer, secret: Buffer.from(secret), subject, scope, expiresIn: '3650d' }
      return new Caller(agent, () => host.url, bearer(await mintToken(key)))
    }

    const failed = new Set<string>()
    const delivered = new Set<string>()
    const receiver = await startReceiver(round, ({ subject }, response) => {
      const fails = failed.size < FAILING && !failed.has(subject) && random.chance(0.2)
      ;(fails ? failed : delivered).add(subject)
      if (!fails) round.count('deliveries')
      response.writeHead(fails ? 500 : 204).end()
    })
    const operator = await callerOf('operator', 'event:read')
    const webhook = { url: receiver, types: ['purchase.created'], everyone: true }
    const made = await operator.post('/webhook', webhook)
    if (made.status !== 201) throw new Error(`the webhook was not made: ${made.text}`)

    const shoppers: Shopper[] = []
    for (let number = 0; number < SHOPPERS; number += 1) {
      const own = new Random(seed * 100 + number)
      shoppers.push(
        new Shopper(await callerOf(`shopper-${number}`), own, {
          does: [
            [3, 'addition'],
            [2, 'repeat'],
            [5, 'purchase'],
          ],
          keyed: ['addition', 'purchase'],
          ifBroken: 'insist',
          pause: [5, 30],
          mayGet: ({ status }) => status < 300,
        }),
      )
    }
    for (const shopper of shoppers) shopper.start()
    for (let phase = 0; phase < PHASES; phase += 1) {
      await pause(PHASE)
      await host.jump(random.oneOf(AHEAD), random.chance(0.5))
    }
    await pause(PHASE)
    // At last the clock is right.
    await host.jump(0, true)
    for (const shopper of shoppers) await shopper.stop()

    const bought = shoppers.flatMap((shopper) => shopper.bought)
    const missing = () => bought.filter((id) => !delivered.has(id)).length
    if (!(await until(() => missing() === 0, SOON, 50)))
      round.fail(`${missing()} of ${bought.length} purchases reached no webhook in ${SOON} ms`)
    for (const shopper of shoppers) {
      round.fail(...(await shopper.check()))
      const listed = await shopper.caller.list<{ id: string }>('/purchase?rpp=100')
      const inOrder = listed.map(({ id }) => id).reverse()
      if (inOrder.join() !== shopper.bought.join()) round.fail('purchases are listed in another order')
      round.count('repetitions', shopper.repetitions)
    }
    round.count('purchases', bought.length)
  },
})

/** A host whose clock is ahead, or behind. */
class JumpingHost {
  readonly #round: Round
  readonly #directory: string
  #child: Child | undefined
  #ahead = 0
  url = ''

  constructor(round: Round, directory: string) {
    this.#round = round
    this.#directory = directory
    round.teardown(() => this.#child?.kill())
  }

  async start(ahead: number): Promise<void> {
    const { database } = this.#round
    this.#child = new Child(server)
    this.#ahead = ahead
    const options = { directory: this.#directory, ahead, ...(database !== undefined && { database }) }
    this.url = (await this.#child.ask<{ url: string }>(options)).url
  }

  /** Makes the clock jump, while the host runs or while it is down. */
  async jump(ahead: number, isKilled: boolean): Promise<void> {
    this.#round.count('jumps')
    const previous = this.#ahead
    this.#ahead = ahead
    if (!isKilled) {
      await this.#child?.ask({ ahead })
      return
    }
    this.#round.count('kills')
    await this.#child?.kill()
    const { database } = this.#round
    // A server's clock cannot be set, so this shifts the times that it wrote.
    if (database !== undefined) await shiftTimes(database, previous - ahead)
    await this.start(ahead)
  }
}

async function allowLoopback(directory: string): Promise<void> {
  const file = configFile(directory)
  const config = JSON.parse(await readFile(file, 'utf8'))
  const settings = { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] }
  await writeFile(file, JSON.stringify({ ...config, modules: { 'api-event': settings } }))
}
