import {
  byEngine,
  currentTime,
  DAY,
  defineModule,
  type EventQuery,
  maybeOne,
  one,
  run,
  sql,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import type { Test } from 'tap'
import { EventLog } from '../../src/events/event-log.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type Open, testOnEngines, testOnPostgres } from '../engines.ts'

const { emit } = defineModule('notes', {
  events: {
    'note.added': Type.Object({ text: Type.String() }),
    'note.dated': Type.Object({ on: Type.String({ format: 'date-time' }) }),
  },
})

const add = (text: string, subject = 'a', owner?: string) =>
  emit('note.added', { subject, data: { text }, ...(owner !== undefined && { owner }) })

async function logOf(t: Test, open: Open) {
  const storage = await open()
  await storage.migrate([hostMigrations])
  return { storage, log: openLog(t, storage) }
}

function openLog(t: Test, storage: Storage) {
  const log = new EventLog(storage, createLogger({ level: 'silent', requests: false, slowMs: 1_000 }))
  t.teardown(() => log.close())
  log.wake()
  return log
}

/** Resolves when `log` has this many events. */
function untilLast(log: EventLog, position: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const look = () => log.last().then((last) => last >= position && resolve(), reject)
  const end = log.onMore(look)
  look()
  return promise.finally(end)
}

const texts = async (log: EventLog, query: Partial<EventQuery> = {}) =>
  (await log.read({ after: 0, limit: 100, ...query })).events.map(
    ({ data }) => (data as { text: string }).text,
  )

testOnEngines(
  'an event is there exactly if its transaction is committed, whole and in its place',
  async (t, open) => {
    const { storage, log } = await logOf(t, open)
    const before = currentTime()
    await storage.transaction(() => add('one', 'a', 'user:ann'))
    await t.rejects(
      storage.transaction(function* () {
        yield* add('never')
        throw new Error('on purpose')
      }),
    )
    await storage.transaction(function* () {
      yield* add('two', 'b')
      yield* add('three', 'a')
    })
    await untilLast(log, 3)
    const { events, next } = await log.read({ after: 0, limit: 10 })
    t.equal(next, undefined)
    t.match(events, [
      {
        position: 1,
        id: /^event_/,
        type: 'note.added',
        source: 'notes',
        subject: 'a',
        owner: 'user:ann',
        data: { text: 'one' },
        traceparent: null,
      },
      { position: 2, subject: 'b', owner: null, data: { text: 'two' } },
      { position: 3, subject: 'a', data: { text: 'three' } },
    ])
    t.ok((events[0]?.at as number) >= before && (events[0]?.at as number) <= currentTime())
    t.equal(await log.find(events[1]?.id as string), 2)
    t.equal(await log.find('event_unknown'), undefined)
  },
)

/** `count` events: every third of each owner, every fifth of the large subject, and some of a rare type. */
const fill = (storage: Storage, count: number) =>
  storage.transaction(() =>
    run(sql`
      INSERT INTO mortise_event (position, id, type, source, subject, owner, at, data)
      SELECT value, 'event_' || value,
        CASE WHEN value IN (1, 2500, 2501, 5000, 6000) THEN 'note.rare' ELSE 'note.added' END, 'notes',
        CASE WHEN value % 5 = 0 THEN 'large' ELSE 'small ' || value END,
        CASE value % 3 WHEN 0 THEN 'user:ann' WHEN 1 THEN 'user:ben' END, 0, '{"text":"' || value || '"}'
      FROM (${byEngine({
        sqlite: sql`WITH RECURSIVE n (value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < ${count}) SELECT value FROM n`,
        postgres: sql`SELECT value FROM generate_series(1, ${count}) AS value`,
      })}) AS numbers`),
  )

testOnEngines(
  'a read for types or a subject looks at 1,000 events, and says where to read on',
  async (t, open) => {
    const { storage, log } = await logOf(t, open)
    await fill(storage, 6_000)
    const rare = { types: ['note.rare'], limit: 100 }
    const first = await log.read({ ...rare, after: 0 })
    t.match(first.events, [{ position: 1 }])
    t.strictSame(first.next, { id: 'event_1000', position: 1_000 })
    t.strictSame(await log.read({ ...rare, after: 1_000 }), {
      events: [],
      next: { id: 'event_2000', position: 2_000 },
    })
    t.match(await log.read({ ...rare, after: 2_000, limit: 1 }), {
      events: [{ position: 2_500 }],
      next: { position: 2_500 },
    })
    t.match(await log.read({ ...rare, after: 5_000 }), {
      events: [{ position: 6_000 }],
      next: { position: 6_000 },
    })
    t.strictSame(await log.read({ ...rare, after: 6_000 }), { events: [], next: undefined })
    const own = await log.read({ ...rare, owner: 'user:ann', after: 0 })
    t.strictSame(own.events, [], 'none of the first 1,000 of the owner')
    t.strictSame(own.next, { id: 'event_3000', position: 3_000 }, 'only the events of the owner count')
  },
)

testOnEngines('all pages of a query together have exactly its events', async (t, open) => {
  const { storage, log } = await logOf(t, open)
  await fill(storage, 6_000)
  await storage.transaction(() => run(sql`DELETE FROM mortise_event WHERE position % 7 = 0`))
  const { events: all } = await log.read({ after: 0, limit: 10_000 })
  t.ok(all.length > 5_000)
  for (const types of [undefined, ['note.rare'], ['note.added', 'note.rare', 'note.added'], ['note.never']]) {
    for (const owner of [undefined, 'user:ann', 'user:nobody']) {
      for (const subject of [undefined, 'large', 'small 4']) {
        const found: number[] = []
        let next: { readonly position: number } | undefined = { position: 0 }
        while (next !== undefined) {
          const page = await log.read({ types, owner, subject, after: next.position, limit: 400 })
          found.push(...page.events.map(({ position }) => position))
          next = page.next
        }
        const wanted = all.filter(
          (event) =>
            (types?.includes(event.type) ?? true) &&
            (owner ?? event.owner) === event.owner &&
            (subject ?? event.subject) === event.subject,
        )
        t.strictSame(
          found,
          wanted.map(({ position }) => position),
          JSON.stringify({ types, owner, subject }),
        )
      }
    }
  }
})

testOnEngines('the event log is read from a position, by type, owner and subject', async (t, open) => {
  const { storage, log } = await logOf(t, open)
  await storage.transaction(function* () {
    yield* add('one', 'a', 'user:ann')
    yield* emit('note.dated', { subject: 'a', owner: 'user:ann', data: { on: '2026-11-22T00:00:00Z' } })
    yield* add('two', 'b', 'user:ann')
    yield* add('three', 'a', 'user:ben')
  })
  await untilLast(log, 4)
  t.same(await texts(log, { types: ['note.added'] }), ['one', 'two', 'three'])
  t.same(await texts(log, { types: [] }), [])
  t.same(await texts(log, { types: ['note.added'], owner: 'user:ann' }), ['one', 'two'])
  t.same(await texts(log, { subject: 'a', after: 2 }), ['three'])
  t.same(await texts(log, { limit: 1 }), ['one'])
  t.match(await log.newest(), { position: 4, data: { text: 'three' } })
  t.match(await log.newest('user:ann'), { position: 3, data: { text: 'two' } })
  t.equal(await log.newest('user:cay'), undefined)
})

testOnEngines('event data that violate their schema undo the transaction', async (t, open) => {
  const { storage, log } = await logOf(t, open)
  const wrong = { on: 'some day' }
  await t.rejects(
    storage.transaction(() => emit('note.dated', { subject: 'a', data: wrong })),
    { message: /data of the event note.dated do not match .* "on" must be a string of the form date/ },
  )
  await t.rejects(
    storage.transaction(() => add('x'.repeat(270_000))),
    { message: /exceed 262144 bytes/ },
  )
  const unknown = emit as unknown as (type: string, event: object) => ReturnType<typeof add>
  await t.rejects(
    storage.transaction(() => unknown('note.gone', { subject: 'a', data: {} })),
    { message: /"note.gone" is not an event of notes/ },
  )
  t.equal(await log.last(), 0)
})

testOnEngines(
  'the oldest are forgotten in steps, and the newest never, so that no position comes twice',
  async (t, open) => {
    const { storage, log } = await logOf(t, open)
    for (let index = 1; index <= 103; index += 1) await storage.transaction(() => add(String(index)))
    await untilLast(log, 103)
    await storage.transaction(() =>
      run(sql`UPDATE mortise_event SET at = ${currentTime() - 2 * DAY} WHERE position <= 101`),
    )
    const forget = (before: number) => storage.transaction(() => log.forgetOld(before))
    t.equal(await forget(currentTime() - DAY), true, 'there may be more')
    t.equal((await log.read({ after: 0, limit: 1 })).events[0]?.position, 101)
    t.equal(await forget(currentTime() - DAY), false)
    t.same(await texts(log), ['102', '103'])
    await forget(currentTime() + DAY)
    t.same(await texts(log), ['103'])
    await storage.transaction(() => add('next'))
    await untilLast(log, 104)
  },
)

testOnPostgres(
  'who commits late is not missed by who has read what was committed before',
  async (t, open) => {
    const { storage, log } = await logOf(t, open)
    const other = await open()
    const begun = Promise.withResolvers<void>()
    let released = false
    const late = storage.transaction(function* () {
      yield* add('late', 'b')
      begun.resolve()
      while (!released) yield* maybeOne(sql`SELECT pg_sleep(0.01)`)
    })
    await begun.promise
    await other.transaction(() => add('early', 'a'))
    await untilLast(log, 1)
    t.same(await texts(log), ['early'])
    released = true
    await late
    await untilLast(log, 2)
    t.same(await texts(log), ['early', 'late'])
  },
)

testOnPostgres(
  'events of a host that has died before they had positions are found by another, and each host hears of it',
  async (t, open) => {
    const { storage } = await logOf(t, open)
    const other = await open()
    const second = openLog(t, other)
    const reported = untilLast(second, 1)
    await storage.transaction(() => add('one'))
    await reported
    t.same(await texts(second), ['one'])

    const silent = await open()
    await silent.transaction(() => add('two'))
    await untilLast(second, 2)
    t.same(await texts(second), ['one', 'two'])
  },
)

testOnEngines('concurrent events get a position each, in the order of their subject', async (t, open) => {
  const { storage, log } = await logOf(t, open)
  await storage.transaction(() =>
    run(sql`CREATE TABLE counter (subject TEXT PRIMARY KEY, value BIGINT NOT NULL)`),
  )
  const subjects = ['a', 'b', 'c']
  for (const subject of subjects)
    await storage.transaction(() => run(sql`INSERT INTO counter VALUES (${subject}, 0)`))
  await Promise.all(
    Array.from({ length: 90 }, (_, index) => {
      const subject = subjects[index % 3] as string
      return storage.transaction(function* () {
        const { value } = yield* one<{ value: number }>(
          sql`UPDATE counter SET value = value + 1 WHERE subject = ${subject} RETURNING value`,
        )
        yield* add(String(value), subject)
      })
    }),
  )
  await untilLast(log, 90)
  const { events } = await log.read({ after: 0, limit: 100 })
  t.same(
    events.map(({ position }) => position),
    Array.from({ length: 90 }, (_, index) => index + 1),
  )
  for (const subject of subjects) {
    t.same(
      await texts(log, { subject }),
      Array.from({ length: 30 }, (_, index) => String(index + 1)),
    )
  }
})
