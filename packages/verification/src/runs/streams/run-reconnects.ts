import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../harness/ask.ts'
import { type HostGroup, withHosts } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import type { Outcome } from '../../harness/verification.ts'
import { Follower } from './follower.ts'

export interface ReconnectsOptions {
  readonly folder: string
  readonly seed: number
  /** The URL of a PostgreSQL server, for three hosts; without it, one host on SQLite. */
  readonly database: string | undefined
}

/** How often each follower reconnects at least. */
const RECONNECTS = 4
const WRITERS = 4
/** The longest pause between two purchases of one writer, in milliseconds. */
const BREATH = 40
/** The time limit for a purchase and for a follower, in milliseconds. */
const PATIENCE = 60_000
/** The longest pause between two disruptions, in milliseconds. */
const PAUSE = 60

const disruptions = [
  [2, 'killed'],
  [4, 'switched'],
  [4, 'left'],
] as const

/**
 * Clients follow the events of purchases while hosts are killed and switched live, and while the
 * clients disconnect. Compares the events that they received with the stored ones, and with the
 * acknowledged purchases.
 */
export async function runReconnects({ folder, seed, database }: ReconnectsOptions): Promise<Outcome> {
  const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
  return await withHosts(database, { folder, modules }, (hosts) => follow(hosts, seed))
}

async function follow(hosts: HostGroup, seed: number): Promise<Outcome> {
  const random = new Random(seed)
  const failures: string[] = []
  const bearer = async (subject: string, scope?: string) => ({
    authorization: `Bearer ${await hosts.mintToken(subject, scope)}`,
  })
  const readers = [await bearer('reader', 'event:read'), await bearer('writer-0')]
  // Not from `random`: the number of reconnects depends on the machine.
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

  let kills = 0
  const fewest = () => Math.min(...followers.map((follower) => follower.reconnects))
  while (fewest() < RECONNECTS) {
    const disruption = random.weighted(disruptions)
    if (disruption === 'killed') kills += 1
    const before = followers.map((follower) => follower.events.length)
    if (disruption === 'killed') await hosts.any(random).killAndStart()
    else if (disruption === 'switched') await hosts.switchAny(random, 'api-cart')
    else for (const follower of followers) follower.drop()
    const hasMore = () => followers.every(({ events }, index) => events.length > (before[index] as number))
    if (!(await within(PATIENCE, hasMore))) {
      failures.push(`no more events arrived after: ${disruption}`)
      break
    }
    await pause(random.between(0, PAUSE))
  }
  isOver = true
  await writing.catch((error: Error) => failures.push(error.message))

  const purchases = () => followers[0]?.events.filter(({ type }) => type === 'purchase.created') ?? []
  // On PostgreSQL an event appears in the log shortly after the response to its request.
  await within(PATIENCE, () => purchases().length >= made.length)
  const url = hosts.any(random).url
  const expected = await Promise.all(readers.map((headers) => listEvents(url, headers)))
  for (const [index, follower] of followers.entries()) {
    const ids = expected[index] as readonly string[]
    await within(PATIENCE, () => follower.events.length >= ids.length)
    follower.stop()
    const received = follower.events.map(({ id }) => id)
    failures.push(...follower.failures, ...differences(`follower ${index}`, received, ids))
  }
  const created = purchases().map(({ subject }) => subject)
  failures.push(...differences('purchases', created.sort(), made.toSorted()))
  await Promise.all(following)
  agent.destroy()
  const figures = { reconnects: fewest(), events: expected[0]?.length ?? 0, 'hosts killed': kills }
  return { figures, failures }
}

/** Sends a purchase with one key until it gets a response. @returns the id of the purchase */
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
      const response = await ask(agent, {
        url,
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key },
        body,
      })
      if (response.status === 201) return JSON.parse(response.body).id
      last = `${response.status} ${response.body}`
    } catch (error) {
      last = String(error)
    }
  }
  throw new Error(`the purchase ${key} was not made: ${last}`)
}

/** The ids of all events that a caller sees, from the pages of the list. */
async function listEvents(url: string, headers: Readonly<Record<string, string>>): Promise<string[]> {
  const ids: string[] = []
  for (let next = '/event?limit=100', more = true; more; ) {
    const response = await fetch(`${url}${next}`, { headers })
    const page = (await response.json()) as { data: { id: string }[]; next: string; more: boolean }
    ids.push(...page.data.map(({ id }) => id))
    ;({ next, more } = page)
  }
  return ids
}

/** One line about missing, repeated and misplaced ids. */
function differences(what: string, received: readonly string[], expected: readonly string[]): string[] {
  const known = new Set(received)
  const missing = expected.filter((id) => !known.has(id)).length
  const doubled = received.length - known.size
  const isInOrder = received.every((id, index) => id === expected[index])
  if (missing === 0 && doubled === 0 && isInOrder) return []
  return [`${what}: of ${expected.length} ${missing} are missing, ${doubled} doubled, in order: ${isInOrder}`]
}

async function within(milliseconds: number, holds: () => boolean): Promise<boolean> {
  for (const deadline = performance.now() + milliseconds; !holds(); await pause(5)) {
    if (performance.now() > deadline) return false
  }
  return true
}
