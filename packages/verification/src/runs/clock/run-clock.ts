import { readFile, writeFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile, mintToken } from '@mortise/host'
import { ask } from '../../harness/ask.ts'
import { Child } from '../../harness/child.ts'
import { ownSchema } from '../../harness/own-schema.ts'
import { prepareApplication } from '../../harness/prepare-application.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Buyer } from './buyer.ts'
import { Receiver } from './receiver.ts'
import { shiftTimes } from './shift-times.ts'

const HOUR = 3_600_000
/**
 * The clock's lead, chosen at random. All are below five days of failure, which disable a webhook.
 */
const AHEAD = [2 * HOUR, 20 * HOUR, 96 * HOUR, -2 * HOUR, -20 * HOUR, -96 * HOUR]
const PHASES = 4
const PHASE = 700
const BUYERS = 6
/**
 * Everything must arrive this soon after the last start, in milliseconds: a retry takes six
 * seconds, a lease ten.
 */
const SOON = 20_000

/** Callers buy while the clock jumps and the host is killed. */
export async function runClock(
  seed: number,
  database: string | undefined,
  directory: string,
): Promise<Outcome> {
  const schema = database === undefined ? undefined : ownSchema(database)
  const agent = new Agent({ keepAlive: true })
  const random = new Random(seed)
  const receiver = await Receiver.start(new Random(seed + 1))
  const figures = { purchases: 0, deliveries: 0, jumps: 0, kills: 0, repetitions: 0 }
  let host = new Child(server)
  let url = ''
  try {
    const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
    const application = await prepareApplication(directory, modules)
    await allowLoopback()
    await start(0)
    const secret = Buffer.from(application.secret)
    const mint = (subject: string, scope?: string) =>
      mintToken({ issuer: application.issuer, secret, subject, scope, expiresIn: '3650d' })
    await subscribe(await mint('operator', 'event:read'))
    const buyers: Buyer[] = []
    for (let number = 0; number < BUYERS; number += 1) {
      buyers.push(
        new Buyer({ agent, url: () => url, token: await mint(`buyer-${number}`), seed: seed * 100 + number }),
      )
    }
    const working = buyers.map((buyer) => buyer.work())
    await jump()
    for (const buyer of buyers) buyer.stop()
    await Promise.all(working)
    const purchases = buyers.flatMap(({ bought }) => bought)
    const failures = await receiver.missing(purchases, SOON)
    for (const buyer of buyers) failures.push(...(await buyer.compare()))
    figures.purchases = purchases.length
    figures.deliveries = receiver.count
    figures.repetitions = buyers.reduce((sum, { repetitions }) => sum + repetitions, 0)
    return { figures, failures }
  } finally {
    await host.kill()
    agent.destroy()
    receiver.close()
    await schema?.drop()
  }

  /**
   * Makes the clock jump, while the host runs or while it is down. At the end the clock is right,
   * after a kill.
   */
  async function jump(): Promise<void> {
    let previous = 0
    for (let phase = 0; phase <= PHASES; phase += 1) {
      await pause(PHASE)
      const isLast = phase === PHASES
      const ahead = isLast ? 0 : (AHEAD[random.between(0, AHEAD.length - 1)] as number)
      figures.jumps += 1
      if (isLast || random.chance(0.5)) {
        figures.kills += 1
        await host.kill()
        // A server's clock cannot be set, so this shifts the times that it wrote.
        if (schema !== undefined) await shiftTimes(schema.url, previous - ahead)
        host = new Child(server)
        await start(ahead)
      } else {
        await host.ask({ ahead })
      }
      previous = ahead
    }
  }

  async function start(ahead: number): Promise<void> {
    const options = { directory, ahead, ...(schema !== undefined && { database: schema.url }) }
    url = (await host.ask<{ url: string }>(options)).url
  }

  async function allowLoopback(): Promise<void> {
    const file = configFile(directory)
    const config = JSON.parse(await readFile(file, 'utf8'))
    const settings = { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] }
    await writeFile(file, JSON.stringify({ ...config, modules: { 'api-event': settings } }))
  }

  async function subscribe(token: string): Promise<void> {
    const { status, body } = await ask(agent, {
      url: `${url}/webhook`,
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ url: receiver.url, types: ['purchase.created'], everyone: true }),
    })
    if (status !== 201) throw new Error(`the webhook was not made: ${body}`)
  }
}

const server = new URL('clock-server.ts', import.meta.url)
