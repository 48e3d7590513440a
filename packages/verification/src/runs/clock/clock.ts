import { setTimeout as pause } from 'node:timers/promises'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import { startReceiver } from '../../harness/receiver.ts'
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

/** Callers buy while the clock jumps and the host is killed. */
export const clock = defineRun({
  promise:
    'While a clock jumps hours or days forwards and backwards and hosts are killed, no acknowledged write is lost or done twice, and lists keep their order. Every event reaches its webhook soon after the clock is right.',
  needed: ['purchases', 'deliveries', 'jumps', 'kills', 'repetitions'],
  engines: ({ isSlice }) => (isSlice ? ['sqlite'] : onBothEngines()),
  async round(round) {
    const { random, seed, database } = round
    const hosts = await HostGroup.start(round, {
      modules: ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event'],
      settings: { 'api-event': { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] } },
      databases: database === undefined ? [] : [database],
      file: new URL('clock-server.ts', import.meta.url),
    })
    const host = hosts.any(random)
    let previous = 0
    /** Makes the clock jump, while the host runs or while it is down. */
    const jump = async (ahead: number, isKilled: boolean) => {
      round.count('jumps')
      const by = previous - ahead
      previous = ahead
      if (!isKilled) return host.send({ ahead })
      round.count('kills')
      // A server's clock cannot be set, so this shifts the times that it wrote.
      await host.killAndStart({ ahead }, async () => database !== undefined && shiftTimes(database, by))
    }

    const failed = new Set<string>()
    const delivered = new Set<string>()
    const receiver = await startReceiver(round, ({ subject }, response) => {
      const fails = failed.size < FAILING && !failed.has(subject) && random.chance(0.2)
      ;(fails ? failed : delivered).add(subject)
      if (!fails) round.count('deliveries')
      response.writeHead(fails ? 500 : 204).end()
    })
    const operator = await hosts.user('operator', random, 'event:read')
    const webhook = { url: receiver, types: ['purchase.created'], everyone: true }
    const made = await operator.post('/webhook', webhook)
    if (made.status !== 201) throw new Error(`the webhook was not made: ${made.text}`)

    const shoppers: Shopper[] = []
    for (let number = 0; number < SHOPPERS; number += 1) {
      const own = new Random(seed * 100 + number)
      shoppers.push(
        new Shopper(await hosts.user(`shopper-${number}`, own), own, {
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
      await jump(random.oneOf(AHEAD), random.chance(0.5))
    }
    await pause(PHASE)
    // At last the clock is right.
    await jump(0, true)
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
