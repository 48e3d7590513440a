import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { databaseAddress, openStorage, readConfig, type Storage } from '@mortise/host'
import { sql } from '@mortise/module-sdk'
import { type Answered, ask } from '../../harness/ask.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import { writeTallyModule } from './tally-module.ts'

export interface OutboxOptions {
  readonly folder: string
  readonly transactions: number
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
  /** Kill a host after at most this many responses. */
  readonly killWithin?: number
}

export interface OutboxReport {
  readonly acknowledged: number
  /** Transactions that failed on purpose. */
  readonly failed: number
  readonly kills: number
  readonly events: number
  /** The failures; empty if all is well. */
  readonly failures: readonly string[]
}

const AT_ONCE = 16
const SUBJECTS = 40
/** The time limit until the module has handled the last event, in milliseconds. */
const PATIENCE = 120_000

/**
 * Changes with events, on hosts that are killed. The emitted and handled events must be exactly the
 * committed ones.
 */
export async function runOutbox(options: OutboxOptions): Promise<OutboxReport> {
  const { folder, transactions, seed, database, killWithin = 800 } = options
  const schema = database === undefined ? undefined : ownSchema(database)
  const agent = new Agent({ keepAlive: true })
  const random = new Random(seed)
  let hosts: HostGroup | undefined
  try {
    hosts = await HostGroup.start({
      folder,
      modules: [await writeTallyModule(join(folder, 'tally'))],
      databases: schema === undefined ? [] : [schema.url, schema.url, schema.url],
    })
    const done = await work(hosts)
    const failures = [...(await untilHeard(hosts))]
    await hosts.stop()
    hosts = undefined
    const compared = await compare()
    return { ...done, events: compared.events, failures: [...failures, ...compared.failures] }
  } finally {
    agent.destroy()
    await hosts?.stop()
    await schema?.drop()
  }

  async function work(hosts: HostGroup): Promise<Pick<OutboxReport, 'acknowledged' | 'failed' | 'kills'>> {
    const done = { acknowledged: 0, failed: 0, kills: 0 }
    let left = transactions
    let untilKill = random.between(20, killWithin)
    let killing: Promise<void> | undefined
    const one = async () => {
      while (left > 0) {
        left -= 1
        const subjects = new Set(
          Array.from({ length: random.between(1, 3) }, () => `s${random.between(1, SUBJECTS)}`),
        )
        const fails = random.chance(0.1)
        const status = await change(hosts, { subjects: [...subjects], fails })
        if (status === 200) done.acknowledged += 1
        if (status === 500) done.failed += 1
        untilKill -= 1
        if (untilKill !== 0) continue
        done.kills += 1
        killing = hosts
          .any(random)
          .killAndStart()
          .then(() => {
            untilKill = random.between(20, killWithin)
          })
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, one))
    await killing
    return done
  }

  /** The status; undefined without a response, when the outcome is unknown. */
  async function change(hosts: HostGroup, body: object): Promise<number | undefined> {
    try {
      const { status } = await send(hosts, 'POST', JSON.stringify(body))
      return status
    } catch (error) {
      // The host is starting.
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await pause(100)
      return undefined
    }
  }

  function send(hosts: HostGroup, method: 'GET' | 'POST', body = ''): Promise<Answered> {
    const headers = { 'content-type': 'application/json' }
    return ask(agent, { method, url: `${hosts.any(random).url}/tally`, headers, body })
  }

  async function untilHeard(hosts: HostGroup): Promise<string[]> {
    let told = ''
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(100)) {
      const { body } = await send(hosts, 'GET')
      const { raised, heard } = JSON.parse(body)
      if (raised === heard) return []
      told = body
    }
    return [`not all was heard within ${PATIENCE / 1000} s: ${told}`]
  }

  /** Compares the emitted and handled events with the committed changes. */
  async function compare(): Promise<{ events: number; failures: string[] }> {
    const place =
      schema === undefined
        ? databaseAddress(await readConfig(join(folder, 'application'), {}))
        : { url: schema.url }
    const storage = await openStorage({ ...place, onFatal: () => {} })
    try {
      return await compareIn(storage)
    } finally {
      await storage.close()
    }
  }
}

async function compareIn(storage: Storage): Promise<{ events: number; failures: string[] }> {
  const failures: string[] = []
  await storage.sequenceOutbox()
  const events = await storage.many<{ position: number; id: string; subject: string; data: string }>(
    sql`SELECT position, id, subject, data FROM mortise_event ORDER BY position`,
  )
  if (events.some(({ position }, index) => position !== index + 1)) failures.push('positions have gaps')
  if (new Set(events.map(({ id }) => id)).size < events.length) failures.push('events have the same id')
  const told = new Map<string, number>()
  for (const { subject, data } of events) {
    const before = told.get(subject) ?? 0
    const { value } = JSON.parse(data)
    if (value !== before + 1) failures.push(`${subject}: after ${before} it was told ${value}`)
    told.set(subject, value)
  }
  const committed = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally`,
  )
  for (const { subject, value } of committed) {
    const last = told.get(subject)
    if (last !== value) failures.push(`${subject} is ${value}, and was told to be ${last}`)
  }
  if (committed.length !== told.size) failures.push('of some only events are there')
  const wrong = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally_wrong`,
  )
  for (const { subject, value } of wrong) failures.push(`${subject}: ${value} was heard twice, or too early`)
  return { events: events.length, failures }
}
