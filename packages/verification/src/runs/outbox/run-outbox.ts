import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { databaseAddress, openStorage, readConfig, type Storage } from '@mortise/host'
import { sql } from '@mortise/module-sdk'
import { ask, type Reply } from '../../harness/ask.ts'
import { type HostGroup, withHosts } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { writeTallyModule } from './tally-module.ts'

export interface OutboxOptions {
  readonly folder: string
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
}

const TRANSACTIONS = 300
const AT_ONCE = 16
/** A host is killed after at most this many responses. */
const KILL_WITHIN = 150
const SUBJECTS = 40
/** The time limit until the module has handled the last event, in milliseconds. */
const PATIENCE = 120_000

/**
 * Changes with events, on hosts that are killed. The emitted and handled events must be exactly the
 * committed ones.
 */
export async function runOutbox({ folder, seed, database }: OutboxOptions): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true })
  const random = new Random(seed)
  try {
    const modules = [await writeTallyModule(join(folder, 'tally'))]
    return await withHosts(database, { folder, modules }, async (hosts) => {
      const done = await work(hosts)
      const unheard = await untilHeard(hosts)
      await hosts.stop()
      const { events, failures } = await compare(hosts.directory)
      return { figures: { ...done, events }, failures: [...unheard, ...failures] }
    })
  } finally {
    agent.destroy()
  }

  async function work(hosts: HostGroup): Promise<Record<string, number>> {
    const done = { 'transactions acknowledged': 0, 'transactions rolled back': 0, 'hosts killed': 0 }
    let left = TRANSACTIONS
    let untilKill = random.between(20, KILL_WITHIN)
    let killing: Promise<void> | undefined
    const one = async () => {
      while (left > 0) {
        left -= 1
        const subjects = new Set(
          Array.from({ length: random.between(1, 3) }, () => `s${random.between(1, SUBJECTS)}`),
        )
        const fails = random.chance(0.1)
        const status = await change(hosts, { subjects: [...subjects], fails })
        if (status === 200) done['transactions acknowledged'] += 1
        if (status === 500) done['transactions rolled back'] += 1
        untilKill -= 1
        if (untilKill !== 0) continue
        done['hosts killed'] += 1
        killing = hosts
          .any(random)
          .killAndStart()
          .then(() => {
            untilKill = random.between(20, KILL_WITHIN)
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

  function send(hosts: HostGroup, method: 'GET' | 'POST', body = ''): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    return ask(agent, { method, url: `${hosts.any(random).url}/tally`, headers, body })
  }

  async function untilHeard(hosts: HostGroup): Promise<string[]> {
    let reported = ''
    for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await pause(100)) {
      const { body } = await send(hosts, 'GET')
      const { raised, heard } = JSON.parse(body)
      if (raised === heard) return []
      reported = body
    }
    return [`not all was heard within ${PATIENCE / 1000} s: ${reported}`]
  }
}

/** Compares the emitted and handled events with the committed changes. */
async function compare(directory: string): Promise<{ events: number; failures: string[] }> {
  const storage = await openStorage(databaseAddress(await readConfig(directory, {})))
  try {
    return await compareIn(storage)
  } finally {
    await storage.close()
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
  const reported = new Map<string, number>()
  for (const { subject, data } of events) {
    const before = reported.get(subject) ?? 0
    const { value } = JSON.parse(data)
    if (value !== before + 1) failures.push(`${subject}: after ${before} it was sent ${value}`)
    reported.set(subject, value)
  }
  const committed = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally`,
  )
  for (const { subject, value } of committed) {
    const last = reported.get(subject)
    if (last !== value) failures.push(`${subject} is ${value}, and was reported to be ${last}`)
  }
  if (committed.length !== reported.size) failures.push('of some only events are there')
  const wrong = await storage.many<{ subject: string; value: number }>(
    sql`SELECT subject, value FROM tally_wrong`,
  )
  for (const { subject, value } of wrong) failures.push(`${subject}: ${value} was heard twice, or too early`)
  return { events: events.length, failures }
}
