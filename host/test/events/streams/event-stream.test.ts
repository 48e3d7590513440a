import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Event, EventLog } from '@mortise/module-sdk'
import t from 'tap'
import { EventStream } from '../../../src/events/streams/event-stream.ts'
import type { LiveEvents } from '../../../src/events/streams/live-events.ts'

t.test('a reader of many old events leaves turns to others', async (t) => {
  const all = 100_000
  let reads = 0
  const events: Partial<EventLog> = {
    async read({ after, limit }) {
      reads += 1
      const events = Array.from({ length: Math.min(limit, all - after) }, (_, at) => {
        return {
          position: after + at + 1,
          id: `event_${at}`,
          type: 'bell.rung',
          data: {},
          at: 0,
        } as unknown as Event
      })
      return { events, next: events.at(-1) }
    },
  }
  const tail: Partial<LiveEvents> = { since: () => undefined, start: async () => all, unfollow: () => {} }
  const stream = new EventStream({
    events: events as EventLog,
    tail: tail as LiveEvents,
    selection: { types: undefined, subject: undefined, owner: undefined },
    cursor: 'start',
    position: 0,
    heartbeat: 60_000,
  })
  stream.resume()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  t.ok(reads > 0 && reads < 100, `${reads} reads in ten turns`)
  stream.destroy()
})
