import { setTimeout } from 'node:timers/promises'
import {
  DatabaseError,
  defineModule,
  maybeOne,
  newId,
  type React,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import type { Test } from 'tap'
import type { OpenApplication } from '../../src/control/open-application.ts'
import { discard } from '../../src/control/operations/failed.ts'
import { readTrail } from '../../src/events/audit-trail.ts'
import { EventHandlerLoop } from '../../src/events/event-handler-loop.ts'
import { EventLog } from '../../src/events/event-log.ts'
import { deleteSubscription, readFailedEvents, replay } from '../../src/events/failed-event-queries.ts'
import { handlerTimes } from '../../src/events/handler-times.ts'
import { withTrace } from '../../src/events/map-emissions.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { type Open, testOnEngines } from '../engines.ts'

const log = createLogger({ level: 'silent', requests: false, slowMs: 1_000 })
const { emit } = defineModule('counter', {
  events: {
    'counter.raised': Type.Object({ to: Type.Integer() }),
    'counter.read': Type.Object({}),
  },
})
const raised = (subject: string, to: number) => emit('counter.raised', { subject, data: { to } })

/** Nothing is waited for. */
const AT_ONCE = { term: 0, look: 1, pause: 1, retries: Array.from({ length: 1_000 }, () => 0) }

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(1)
}

/** A database with a table of effects: each has the one before of its subject. */
async function application(t: Test, open: Open) {
  const file = `${t.testdir()}/app.db`
  const openStorage = () => open('', { file })
  const storage = await openStorage()
  await storage.migrate([hostMigrations])
  await storage.transaction(() =>
    run(sql`CREATE TABLE effect (subject TEXT NOT NULL, number BIGINT NOT NULL, previous BIGINT)`),
  )
  return { storage, openStorage, events: eventsOf(t, storage) }
}

function eventsOf(t: Test, storage: Storage): EventLog {
  const events = new EventLog(storage, log)
  t.teardown(() => events.close())
  events.wake()
  return events
}

interface Host {
  readonly storage: Storage
  readonly events: EventLog
}

/** A host, or a generation of one, on which a module reacts until the test ends. */
async function reacting(
  t: Test,
  { storage, events }: Host,
  react: React,
  options: {
    readonly times?: Partial<typeof handlerTimes>
    readonly holder?: string
    readonly type?: string
  } = {},
): Promise<EventHandlerLoop> {
  const { times = AT_ONCE, holder = 'one', type = 'counter.raised' } = options
  const loop = new EventHandlerLoop({
    module: 'note',
    handlers: new Map([[type, react]]),
    storage,
    events,
    log,
    holder,
    times: { ...handlerTimes, ...times },
  })
  t.teardown(() => loop.stop())
  await loop.begin()
  return loop
}

const note: React = function* ({ subject, data }) {
  const { to } = data as { to: number }
  const previous = yield* maybeOne<{ number: number | null }>(
    sql`SELECT max(number) AS number FROM effect WHERE subject = ${subject}`,
  )
  yield* run(sql`INSERT INTO effect VALUES (${subject}, ${to}, ${previous?.number ?? 0})`)
}

const effects = (storage: Storage) =>
  storage.many<{ subject: string; number: number; previous: number }>(
    sql`SELECT subject, number, previous FROM effect ORDER BY subject, number`,
  )
const numbers = async (storage: Storage) =>
  (await effects(storage)).map(({ subject, number }) => subject + number)
const giveUp = async (storage: Storage, event: string) => {
  const at = new Date().toISOString()
  const record = { id: newId('audit'), at, actor: 'os:ann', action: 'discard', object: event, details: {} }
  const input = { event, record: { ...record, outcome: 'done' } } as const
  return (await discard.run({ storage } as OpenApplication, input)).failedEvents
}

const state = (storage: Storage) => storage.snapshot(() => readFailedEvents(100))

/** The numbers of a seed, from 0 up to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

testOnEngines(
  'each event takes effect once and in order of its subject, whatever fails, ends or works beside it',
  async (t, open) => {
    const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
    t.comment(`SEED=${seed}`)
    const random = randomOf(seed)
    let failures = 0
    const unsteady: React = function* (event) {
      const fails = random()
      if (fails < 0.2) failures += 1
      if (fails < 0.1) throw new Error('before')
      yield* note(event)
      if (fails < 0.2) throw new Error('after')
    }
    const { storage, openStorage, events } = await application(t, open)
    const second = storage.engine === 'postgres' ? await openStorage() : storage
    const hosts = [
      { storage, events },
      { storage: second, events: second === storage ? events : eventsOf(t, second) },
    ] as const
    const times = { ...AT_ONCE, retries: AT_ONCE.retries.map(() => 25) }
    const both = (one: Host, two: Host) =>
      Promise.all([
        reacting(t, one, unsteady, { times }),
        reacting(t, two, unsteady, { times, holder: 'two' }),
      ])
    await both(hosts[0], hosts[1])
    const subjects = ['a', 'b', 'c', 'd']
    const raise = async (storage: Storage, from: number, to: number) => {
      for (let number = from; number <= to; number++) {
        await Promise.all(subjects.map((subject) => storage.transaction(() => raised(subject, number))))
      }
    }
    await raise(storage, 1, 10)
    await Promise.all(hosts.map(({ storage }) => storage.close()))

    const again = await openStorage()
    const host = { storage: again, events: eventsOf(t, again) }
    await both(host, host)
    await raise(again, 11, 20)
    await until(async () => (await effects(again)).length >= 80)
    t.ok(failures > 0)
    t.strictSame(
      await effects(again),
      subjects.flatMap((subject) =>
        Array.from({ length: 20 }, (_, index) => ({ subject, number: index + 1, previous: index })),
      ),
    )
    await until(async () => (await state(again)).subscriptions[0]?.behind === 0)
    t.match(await state(again), { subscriptions: [{ module: 'note', waiting: 0, dead: 0 }], failed: [] })
  },
)

/** Fails on these, until they are taken out. */
function failingOn(...texts: string[]) {
  const failing = new Set(texts)
  const tried: string[] = []
  const react: React = function* (event) {
    const text = event.subject + (event.data as { to: number }).to
    tried.push(text)
    yield* note(event)
    if (failing.has(text)) throw new Error(`not ${text}\0`)
  }
  return { failing, tried, react }
}

/** Emits them in order; in one transaction, since one that shares a group with what fails runs again. */
async function raiseAll(storage: Storage, ...texts: string[]): Promise<void> {
  await storage.transaction(function* () {
    for (const text of texts) yield* raised(text.slice(0, 1), Number(text.slice(1)))
  })
}

const counts = async (storage: Storage) => {
  const [{ waiting, dead, behind } = {}] = (await state(storage)).subscriptions
  return { waiting, dead, behind }
}

testOnEngines(
  'an event that fails holds up its subject and no other, and after its last attempt not even that',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    const { failing, tried, react } = failingOn('a2')
    await reacting(t, { storage, events }, react, { times: { ...AT_ONCE, look: 10, retries: [60_000, 0] } })
    await raiseAll(storage, 'a1', 'a2', 'b1', 'a3', 'b2', 'a4')
    await until(async () => (await numbers(storage)).length === 3 && (await counts(storage)).behind === 0)
    t.strictSame(await numbers(storage), ['a1', 'b1', 'b2'])
    t.strictSame(await counts(storage), { waiting: 3, dead: 0, behind: 0 })
    const { failed } = await state(storage)
    t.match(failed, [
      {
        module: 'note',
        type: 'counter.raised',
        subject: 'a',
        state: 'waiting',
        attempts: 1,
        error: 'Error: not a2',
      },
    ])
    t.equal(failed.length, 1)
    const wait = Date.parse(failed[0]?.nextAttemptAt as string) - Date.now()
    t.ok(wait > 40_000 && wait <= 72_000, `${wait} ms`)

    const due = () =>
      storage.transaction(() => run(sql`UPDATE mortise_failed_event SET next_at = 0 WHERE next_at > 0`))
    await due()
    await until(async () => (await counts(storage)).waiting === 0)
    t.strictSame(await numbers(storage), ['a1', 'a3', 'a4', 'b1', 'b2'])
    t.match((await state(storage)).failed, [{ state: 'dead', attempts: 3, nextAttemptAt: null }])
    // An attempt that fails may run its steps twice.
    const runs = tried.filter((text) => text === 'a2').length
    t.ok(runs >= 3 && runs <= 6, `${runs} runs`)

    failing.clear()
    const { event } = failed[0] as { event: string }
    t.match(await storage.transaction(() => replay({ event, module: 'another' })), [])
    t.match(await storage.transaction(() => replay({ event })), [{ module: 'note', subject: 'a' }])
    await until(async () => (await effects(storage)).length === 6)
    t.strictSame(await counts(storage), { waiting: 0, dead: 0, behind: 0 })
  },
)

testOnEngines(
  'dead ones are replayed in the order of their subject; one that is given up is gone',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    const { failing, tried, react } = failingOn('a1', 'a2', 'b1', 'b2')
    await reacting(t, { storage, events }, react, { times: { ...AT_ONCE, look: 10, retries: [] } })
    await raiseAll(storage, 'a1', 'a2', 'b1', 'b2', 'b3')
    await until(async () => (await counts(storage)).dead === 4 && (await effects(storage)).length === 1)
    const { failed } = await state(storage)
    const b1 = failed.find(({ error }) => error === 'Error: not b1')?.event as string
    t.match(await giveUp(storage, b1), [{ event: b1 }])
    t.match(await storage.snapshot(() => readTrail({ limit: 10 })), [
      { object: b1, details: { modules: ['note'], type: 'counter.raised', subject: 'b' } },
    ])
    t.same(await giveUp(storage, 'event_unknown'), [])
    failing.delete('a2')
    tried.length = 0
    await storage.transaction(() => replay({}))
    await until(async () => (await counts(storage)).waiting === 0)
    t.strictSame(
      ['a', 'b'].map((subject) => tried.filter((text) => text.startsWith(subject))),
      [['a1', 'a2'], ['b2']],
    )
    t.strictSame(await numbers(storage), ['a2', 'b3'])
    t.strictSame(
      (await state(storage)).failed.map(({ error }) => error),
      ['Error: not a1', 'Error: not b2'],
    )
  },
)

testOnEngines('later deliveries continue after one that was given up', async (t, open) => {
  const { storage, events } = await application(t, open)
  const { react } = failingOn('a1')
  await reacting(t, { storage, events }, react, { times: { ...AT_ONCE, look: 10, retries: [60_000] } })
  await raiseAll(storage, 'a1', 'a2', 'a3')
  await until(async () => (await counts(storage)).waiting === 3)
  const { failed } = await state(storage)
  await giveUp(storage, (failed[0] as { event: string }).event)
  await until(async () => (await effects(storage)).length === 2)
  t.strictSame(await numbers(storage), ['a2', 'a3'])
})

testOnEngines(
  'a module begins with what is new, continues where it had ended, and forgets where it is purged',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    const host = { storage, events }
    const raise = async (...texts: string[]) => {
      const before = await events.last()
      await raiseAll(storage, ...texts)
      await until(async () => (await events.last()) === before + texts.length)
    }
    await raise('a1')
    const first = await reacting(t, host, note)
    await raise('a2')
    await until(async () => (await effects(storage)).length === 1)
    await first.stop()
    await raise('a3')
    t.strictSame(await numbers(storage), ['a2'])

    const second = await reacting(t, host, note)
    await until(async () => (await effects(storage)).length === 2)
    await second.stop()
    t.strictSame(await numbers(storage), ['a2', 'a3'])

    await raise('a4')
    await storage.transaction(() => deleteSubscription('note'))
    t.strictSame((await state(storage)).subscriptions, [])
    await reacting(t, host, note)
    await raise('a5')
    await until(async () => (await effects(storage)).length === 3)
    t.strictSame(await numbers(storage), ['a2', 'a3', 'a5'])
  },
)

testOnEngines(
  'a host that has died is taken over from when its term is over, and one that stops at once',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    const host = { storage, events }
    const times = { ...AT_ONCE, term: 60_000 }
    const one = await reacting(t, host, note, { times, holder: 'one' })
    await raiseAll(storage, 'a1')
    await until(async () => (await effects(storage)).length === 1)
    await one.stop()

    await reacting(t, host, note, { times, holder: 'two' })
    await raiseAll(storage, 'a2')
    await until(async () => (await effects(storage)).length === 2)

    await storage.transaction(() =>
      run(sql`UPDATE mortise_subscription SET holder = 'dead', held_until = ${Date.now() + 60_000}`),
    )
    const looks = watching(storage)
    await raiseAll(storage, 'a3')
    if (storage.engine === 'postgres') {
      await until(() => looks.count > 3)
      t.equal((await effects(storage)).length, 2)
    }
    await storage.transaction(() => run(sql`UPDATE mortise_subscription SET held_until = 0`))
    await until(async () => (await effects(storage)).length === 3)
  },
)

/** Counts how often event handlers look where they stand. */
function watching(storage: Storage): { count: number } {
  const looks = { count: 0 }
  const { maybeOne } = storage
  storage.maybeOne = (query) => {
    if (query.strings.some((text) => text.includes('"heldFor"'))) looks.count += 1
    return maybeOne.call(storage, query) as never
  }
  return looks
}

testOnEngines(
  'what the database does wrong is no failure of the module, unless it continues',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    let failures: DatabaseError['kind'][] = ['unavailable', 'held', 'unknown-outcome', 'busy', 'busy']
    const react: React = function* (event) {
      const kind = failures.shift()
      if (kind !== undefined) throw new DatabaseError(kind, 'on purpose')
      yield* note(event)
    }
    await reacting(t, { storage, events }, react, { times: { ...AT_ONCE, retries: [] } })
    await raiseAll(storage, 'a1')
    await until(async () => (await effects(storage)).length === 1)
    t.strictSame(await counts(storage), { waiting: 0, dead: 0, behind: 0 })
    failures = Array.from({ length: 5 }, () => 'busy')
    await raiseAll(storage, 'a2', 'a3')
    await until(async () => (await effects(storage)).length === 2)
    t.match(await state(storage), {
      subscriptions: [{ dead: 1 }],
      failed: [{ error: 'DatabaseError: on purpose' }],
    })
  },
)

testOnEngines(
  'what it does not react to is passed, and does not hold up a later version that does',
  async (t, open) => {
    const { storage, events } = await application(t, open)
    const host = { storage, events }
    const first = await reacting(t, host, note)
    for (let index = 0; index < 5; index++) {
      await storage.transaction(() => emit('counter.read', { subject: 'a', data: {} }))
    }
    await until(async () => (await events.last()) === 5 && (await counts(storage)).behind === 0)
    await first.stop()
    const types: string[] = []
    const all: React = function* (event) {
      types.push(event.type)
      yield* run(sql`INSERT INTO effect VALUES (${event.type}, 0, 0)`)
    }
    await reacting(t, host, all, { type: '*' })
    await raiseAll(storage, 'a1')
    await storage.transaction(() => emit('counter.read', { subject: 'a', data: {} }))
    await until(async () => (await effects(storage)).length === 2)
    t.strictSame(types, ['counter.raised', 'counter.read'])
  },
)

testOnEngines('an event handler that is not a generator function fails with a hint', async (t, open) => {
  const { storage, events } = await application(t, open)
  const react = (() => Promise.resolve()) as unknown as () => Transaction<void>
  await reacting(t, { storage, events }, react, { times: { ...AT_ONCE, retries: [] } })
  await raiseAll(storage, 'a1')
  await until(async () => (await counts(storage)).dead === 1)
  t.match((await state(storage)).failed, [{ error: /takes a generator/ }])
})

testOnEngines('events of an event handler belong to the trace of the handled event', async (t, open) => {
  const { storage, events } = await application(t, open)
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await reacting(t, { storage, events }, function* ({ subject }) {
    yield* emit('counter.read', { subject, data: {} })
  })
  await raiseAll(storage, 'a1')
  await storage.transaction(() => withTrace(raised('b', 1), traceparent))
  await until(async () => (await events.last()) === 4)
  const read = await events.read({ after: 0, limit: 10, types: ['counter.read'] })
  t.match(read.events, [
    { subject: 'a', traceparent: null },
    { subject: 'b', traceparent },
  ])
})

testOnEngines(
  'after the correction of a clock that was ahead, event handlers continue at once',
  async (t, open) => {
    const AHEAD = 7_200_000
    const { storage, events } = await application(t, open)
    let fails = true
    const react: React = function* (event) {
      if (fails) throw new Error('not yet')
      yield* note(event)
    }
    const times = { term: 10_000, look: 5, pause: 1, retries: [20_000, 20_000] }
    const first = await reacting(t, { storage, events }, react, { times })
    await storage.transaction(() => raised('a', 1))
    await until(async () => (await state(storage)).failed.length === 1)
    await first.stop()
    fails = false
    // Written by another host, whose clock was ahead.
    await storage.transaction(function* () {
      yield* run(sql`UPDATE mortise_subscription SET holder = 'another', held_until = ${Date.now() + AHEAD}`)
      yield* run(sql`UPDATE mortise_failed_event SET next_at = next_at + ${AHEAD}`)
    })
    await reacting(t, { storage, events }, react, { times, holder: 'two' })
    await storage.transaction(() => raised('b', 1))
    await until(async () => (await numbers(storage)).length === 2)
    t.same(await numbers(storage), ['a1', 'b1'])
  },
)
