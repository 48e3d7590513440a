import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../harness/ask.ts'
import { type HostGroup, withHosts } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { writeMailModule } from './mail-module.ts'
import { Receiver } from './receiver.ts'

export interface JobsOptions {
  readonly folder: string
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
}

const KILLS = 5
const AT_ONCE = 4
/** A job is lost when no other job has arrived for this long, in milliseconds. */
const PATIENCE = 60_000

/** Stores jobs on hosts that are killed; the receiver of the jobs notes each one that arrives. */
export async function runJobs({ folder, seed, database }: JobsOptions): Promise<Outcome> {
  const receiver = new Receiver()
  const agent = new Agent({ keepAlive: true })
  try {
    const modules = [await writeMailModule(join(folder, 'mail'), await receiver.listen())]
    return await withHosts(database, { folder, modules }, (hosts) => run(hosts))
  } finally {
    agent.destroy()
    receiver.close()
  }

  async function run(hosts: HostGroup): Promise<Outcome> {
    const random = new Random(seed)
    const acknowledged = new Set<number>()
    const refused = new Set<number>()
    let next = 0
    let isOver = false
    const client = async () => {
      while (!isOver) {
        const number = next++
        const fails = random.chance(0.1)
        const status = await send(hosts.any(random).url, { number, fails })
        if (status === 202) acknowledged.add(number)
        if (fails) refused.add(number)
      }
    }
    const clients = Promise.all(Array.from({ length: AT_ONCE }, client))
    for (let kill = 0; kill < KILLS; kill += 1) {
      await pause(random.between(100, 600))
      await hosts.any(random).killAndStart()
    }
    isOver = true
    await clients

    const missing = () => [...acknowledged].filter((number) => !receiver.numbers.has(number))
    const isOverdue = () => Date.now() > receiver.lastArrival + PATIENCE
    while (missing().length > 0 && !isOverdue()) await pause(50)
    const failures = [...receiver.failures, ...missing().map((number) => `the job of ${number} is lost`)]
    for (const number of receiver.numbers) {
      if (refused.has(number)) failures.push(`the job of ${number} is done, and its transaction failed`)
    }
    const figures = {
      'jobs acknowledged': acknowledged.size,
      'transactions rolled back': refused.size,
      'hosts killed': KILLS,
      'jobs done twice': receiver.duplicates,
    }
    return { figures, failures }
  }

  /** The status; undefined without a response, when the outcome is unknown. */
  async function send(url: string, body: object): Promise<number | undefined> {
    try {
      const headers = { 'content-type': 'application/json' }
      return (await ask(agent, { method: 'POST', url: `${url}/mail`, headers, body: JSON.stringify(body) }))
        .status
    } catch {
      // The host is starting.
      await pause(50)
      return undefined
    }
  }
}
