import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Event, EventLog } from '@mortise/module-sdk'
import t from 'tap'
import { LiveEvents } from '../../../src/events/streams/live-events.ts'
import type { SerializedEvent } from '../../../src/events/streams/serialized-event.ts'

/** A log to which events come when a test says so, and which can be away. */
function scriptedLog() {
  const positions: number[] = []
  let listener = () => {}
  let failure: Error | undefined
  const log: Partial<EventLog> = {
    last: async () => positions.at(-1) ?? 0,
    async read({ after, limit }) {
      if (failure) throw failure
      const events = positions
        .filter((position) => position > after)
        .slice(0, limit)
        .map((position) => ({ position }) as Event)
      return { events, next: events.length === limit ? events.at(-1) : undefined }
    },
    onMore(given) {
      listener = given
      return () => {}
    },
  }
  return {
    log: log as EventLog,
    add(...more: number[]) {
      positions.push(...more)
      listener()
    },
    fail(error: Error | undefined) {
      failure = error
    },
  }
}

function tailOf(log: EventLog) {
  const failures: unknown[] = []
  const warn = (error: unknown) => failures.push(error)
  const tail = new LiveEvents(log, { warn } as never)
  const reported: number[] = []
  const send = (events: readonly SerializedEvent[]) =>
    reported.push(...events.map(({ event }) => event.position))
  return { tail, reported, failures, follower: { send } }
}

t.test('events during the start are read', async (t) => {
  const { log, add } = scriptedLog()
  const { tail } = tailOf(log)
  add(1)
  const begun = tail.start()
  add(2)
  t.equal(await begun, 1)
  await nextTurn()
  t.match(tail.since(1), [{ event: { position: 2 } }])
})

t.test('a failed read is repeated, and reported once', async (t) => {
  const { log, add, fail } = scriptedLog()
  const { tail, reported, failures, follower } = tailOf(log)
  await tail.start()
  tail.follow(follower)
  await nextTurn()
  fail(new Error('away'))
  add(1, 2)
  await nextTurn()
  t.match(failures, [{ message: 'away' }])
  t.same(reported, [])
  fail(undefined)
  tail.retry()
  await nextTurn()
  t.same(reported, [1, 2])
  tail.retry()
  await nextTurn()
  t.same(reported, [1, 2])
})

t.test('only positions without a gap are delivered', async (t) => {
  const { log, add } = scriptedLog()
  const { tail } = tailOf(log)
  const since = (position: number) => tail.since(position)?.map(({ event }) => event.position)
  add(1, 2, 3)
  t.equal(since(3), undefined)
  await tail.start()
  add(4, 5)
  await nextTurn()
  t.same([since(2), since(3), since(4), since(5), since(6)], [undefined, [4, 5], [5], [], []])
  add(...Array.from({ length: 250 }, (_, index) => index + 6))
  await nextTurn()
  t.equal(since(5), undefined)
  t.same(since(254), [255])
  tail.stop()
  t.equal(since(254), undefined)
})
