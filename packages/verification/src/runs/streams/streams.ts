import { setTimeout as pause } from 'node:timers/promises'
import type { Caller } from '../../harness/caller.ts'
import { defineRun, onBothEngines } from '../../harness/define-run.ts'
import { HostGroup } from '../../harness/host-group.ts'
import { Random } from '../../harness/random.ts'
import { until } from '../../harness/until.ts'
import { Follower } from './follower.ts'

/** How often each follower reconnects at least. */
const RECONNECTS = 4
const WRITERS = 4
/** The longest pause between two purchases of one writer, in milliseconds. */
const BREATH = 40
/** The time limit for a follower, in milliseconds. */
const PATIENCE = 60_000
/** The longest pause between two disruptions, in milliseconds. */
const PAUSE = 60

/**
 * Clients follow the events of purchases while hosts are killed and switched live, and while the
 * clients disconnect. Compares the events that they received with the stored ones, and with the
 * acknowledged purchases.
 */
export const streams = defineRun({
  promise: 'A client that reconnects to a stream of events misses none and gets none twice.',
  needed: ['events', 'reconnects'],
  engines: onBothEngines,
  async round(round) {
    const { random, seed } = round
    const modules = ['@mortise/api-cart', '@mortise/api-purchase', '@mortise/api-event']
    const hosts = await HostGroup.start(round, { modules })
    // Not from `random`: the number of reconnects depends on the machine.
    const other = new Random(seed + Math.random() * 1e6)
    const readers = [
      await hosts.user('reader', other, 'event:read'),
      await hosts.user('writer-0', other),
    ] as const
    const followers = readers.map(({ headers }) => new Follower(() => hosts.any(other).url, headers))
    const following = followers.map((follower) => follower.run())

    let isOver = false
    const made: string[] = []
    const write = async (number: number) => {
      const writer = await hosts.user(`writer-${number}`, other)
      for (let count = 0; !isOver; count += 1) {
        made.push(await purchase(writer, `${number}-${count}`))
        await pause(Math.random() * BREATH)
      }
    }
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, number) => write(number)))
    writing.catch(() => {})

    const disrupt = {
      async killed() {
        round.count('hosts killed')
        await hosts.any(random).killAndStart()
      },
      switched: () => hosts.switchAny(random, 'api-cart'),
      async left() {
        for (const follower of followers) follower.drop()
      },
    }
    const fewest = () => Math.min(...followers.map((follower) => follower.reconnects))
    while (fewest() < RECONNECTS && round.holds) {
      const disruption = random.weighted([
        [2, 'killed'],
        [4, 'switched'],
        [4, 'left'],
      ] as const)
      const before = followers.map((follower) => follower.events.length)
      await disrupt[disruption]()
      const hasMore = () => followers.every(({ events }, index) => events.length > (before[index] as number))
      if (!(await until(hasMore, PATIENCE, 5))) round.fail(`no more events arrived after: ${disruption}`)
      await pause(random.between(0, PAUSE))
    }
    isOver = true
    await writing.catch((error: Error) => round.fail(error.message))

    const purchases = () => followers[0]?.events.filter(({ type }) => type === 'purchase.created') ?? []
    // On PostgreSQL an event appears in the log shortly after the response to its request.
    await until(() => purchases().length >= made.length, PATIENCE, 5)
    for (const [index, follower] of followers.entries()) {
      const events = await (readers[index] as Caller).list<{ id: string }>('/event?limit=100')
      await until(() => follower.events.length >= events.length, PATIENCE, 5)
      follower.stop()
      const received = follower.events.map(({ id }) => id)
      round.fail(...follower.failures)
      round.fail(
        ...differences(
          `follower ${index}`,
          received,
          events.map(({ id }) => id),
        ),
      )
      if (index === 0) round.count('events', events.length)
    }
    const created = purchases().map(({ subject }) => subject)
    round.fail(...differences('purchases', created.sort(), made.toSorted()))
    await Promise.all(following)
    round.count('reconnects', fewest())
  },
})

/** Sends a purchase with one key until it gets a response. @returns the id of the purchase */
async function purchase(caller: Caller, key: string): Promise<string> {
  const headers = { 'idempotency-key': key }
  const body = { items: [{ product: key, quantity: 1 }] }
  const reply = await caller.insist({ method: 'POST', path: '/purchase', headers, body })
  if (reply.status !== 201) throw new Error(`the purchase ${key} got ${reply.status} ${reply.text}`)
  return reply.json.id
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
