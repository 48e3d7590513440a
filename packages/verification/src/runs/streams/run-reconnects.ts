import { mkdtemp, rm } from 'node:fs/promises'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../harness/ask.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import { Follower } from './follower.ts'

export interface ReconnectsOptions {
  readonly reconnects: number
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database?: string | undefined
  readonly onProgress?: (text: string) => void
}

export interface ReconnectsReport {
  /** Of the follower that had the fewest. */
  readonly reconnects: number
  readonly events: number
  /** How often a host was killed, a generation switched, a client went by itself. */
  readonly disruptions: Readonly<Record<string, number>>
  /** What went wrong; empty where all is well. */
  readonly failures: readonly string[]
}

const WRITERS = 4
/** Between two purchases of one writer so many milliseconds pass at most. */
const BREATH = 40
/** A purchase, or a follower, that is not done after so many milliseconds is a failure. */
const PATIENCE = 60_000
/** After a disruption so many milliseconds pass at most before the next one. */
const PAUSE = 60

const disruptions = [
  [2, 'killed'],
  [4, 'switched'],
  [4, 'left'],
] as const

/**
 * Has clients follow the events of purchases through host kills, live switches and their own going away, and
 * compares what they were told with what there is, and with what was acknowledged.
 */
export async function runReconnects(options: ReconnectsOptions): Promise<ReconnectsReport> {
  const { database } = options
  const folder = await mkdtemp(join(tmpdir(), 'mortise-streams-'))
  const schema = database === undefined ? undefined : ownSchema(database)
  let hosts: HostGroup | undefined
  try {
    hosts = await HostGroup.start({
      folder,
      modules: ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event'],
      databases: schema === undefined ? [] : [schema.url, schema.url, schema.url],
    })
    return await follow(hosts, options)
  } finally {
    await hosts?.stop()
    await schema?.drop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function follow(
  hosts: HostGroup,
  { reconnects, seed, onProgress }: ReconnectsOptions,
): Promise<ReconnectsReport> {
  const random = new Random(seed)
  const failures: string[] = []
  const bearer = async (subject: string, scope?: string) => ({
    authorization: `Bearer ${await hosts.mintToken(subject, scope)}`,
  })
  const readers = [await bearer('reader', 'event:read'), await bearer('writer-0')]
  // Where they come back to is drawn apart: how often they do depends on the machine.
  const followers = readers.map(
    (headers, index) =>
      new Follower(() => hosts.any(new Random(seed + index + Math.random() * 1e6)).url, headers),
  )
  const following = followers.map((follower) => follower.run())

  const agent = new Agent({ keepAlive: true })
  let isOver = false
  const made: string[] = []
  const write = async (number: number) => {
    const headers = await bearer(`writer-${number}`)
    for (let count = 0; !isOver; count += 1) {
      made.push(await purchase(hosts, agent, headers, `${number}-${count}`))
      await pause(Math.random() * BREATH)
    }
  }
  const writing = Promise.all(Array.from({ length: WRITERS }, (_, number) => write(number)))
  writing.catch(() => {})

  const counts: Record<string, number> = {}
  const fewest = () => Math.min(...followers.map((follower) => follower.reconnects))
  for (let told = 0; fewest() < reconnects; ) {
    const disruption = random.weighted(disruptions)
    counts[disruption] = (counts[disruption] ?? 0) + 1
    const before = followers.map((follower) => follower.told.length)
    if (disruption === 'killed') await hosts.any(random).killAndStart()
    else if (disruption === 'switched') await hosts.switchAny(random, 'api-cart')
    else for (const follower of followers) follower.drop()
    const hasMore = () => followers.every(({ told }, index) => told.length > (before[index] as number))
    if (!(await within(PATIENCE, hasMore))) {
      failures.push(`nothing was told any more once ${disruption}`)
      break
    }
    await pause(random.between(0, PAUSE))
    const done = Math.floor(fewest() / 10)
    if (done > told) onProgress?.(`${fewest()} reconnects, ${made.length} purchases`)
    told = done
  }
  isOver = true
  await writing.catch((error: Error) => failures.push(error.message))

  const url = hosts.any(random).url
  const expected = await Promise.all(readers.map((headers) => listEvents(url, headers)))
  for (const [index, follower] of followers.entries()) {
    const ids = expected[index] as readonly string[]
    await within(PATIENCE, () => follower.told.length >= ids.length)
    follower.stop()
    const told = follower.told.map(({ id }) => id)
    failures.push(...follower.failures, ...differences(`follower ${index}`, told, ids))
  }
  const created = followers[0]?.told.filter(({ type }) => type === 'purchase.created') ?? []
  failures.push(...differences('purchases', created.map(({ subject }) => subject).sort(), made.toSorted()))
  await Promise.all(following)
  agent.destroy()
  return { reconnects: fewest(), events: expected[0]?.length ?? 0, disruptions: counts, failures }
}

/** Purchases, sent again with the same key until it is answered. @returns its id */
async function purchase(
  hosts: HostGroup,
  agent: Agent,
  headers: Readonly<Record<string, string>>,
  key: string,
): Promise<string> {
  const random = new Random(Math.random() * 1e9)
  const body = JSON.stringify({ items: [{ product: key, quantity: 1 }] })
  let last = 'nothing'
  for (const deadline = performance.now() + PATIENCE; performance.now() < deadline; await pause(10)) {
    try {
      const url = `${hosts.any(random).url}/purchase`
      const answer = await ask(agent, {
        url,
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body,
      })
      if (answer.status === 201) return JSON.parse(answer.body).id
      last = `${answer.status} ${answer.body}`
    } catch (error) {
      last = String(error)
    }
  }
  throw new Error(`the purchase ${key} was not made: ${last}`)
}

/** The ids of all events that somebody sees, by the pages of the list. */
async function listEvents(url: string, headers: Readonly<Record<string, string>>): Promise<string[]> {
  const ids: string[] = []
  for (let next = '/event?limit=100', more = true; more; ) {
    const answer = await fetch(`${url}${next}`, { headers })
    const page = (await answer.json()) as { data: { id: string }[]; next: string; more: boolean }
    ids.push(...page.data.map(({ id }) => id))
    ;({ next, more } = page)
  }
  return ids
}

/** What is missing, told twice, or out of order: one line. */
function differences(what: string, told: readonly string[], expected: readonly string[]): string[] {
  const known = new Set(told)
  const missing = expected.filter((id) => !known.has(id)).length
  const doubled = told.length - known.size
  const isInOrder = told.every((id, index) => id === expected[index])
  if (missing === 0 && doubled === 0 && isInOrder) return []
  return [`${what}: of ${expected.length} ${missing} are missing, ${doubled} doubled, in order: ${isInOrder}`]
}

async function within(milliseconds: number, holds: () => boolean): Promise<boolean> {
  for (const deadline = performance.now() + milliseconds; !holds(); await pause(5)) {
    if (performance.now() > deadline) return false
  }
  return true
}
