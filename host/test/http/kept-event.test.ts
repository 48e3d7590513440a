import {
  currentTime,
  DAY,
  defineModule,
  newId,
  type RouteResponse,
  respond,
  run,
  Strict,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import { deleteOldest } from '../../src/events/event-log.ts'
import { hostMigrations } from '../../src/modules/migration-sets.ts'
import { forgetExpired } from '../../src/requests/idempotency-records.ts'
import { bearer, testApp } from '../callers/test-app.ts'
import { type Open, testOnEngines } from '../engines.ts'

const Note = Type.Object({ id: Type.String(), text: Type.String({ maxLength: 1000 }) })
const { emit } = defineModule('note', {
  events: { 'note.added': Note, 'note.seen': Type.Object({ id: Type.String() }) },
})

function* addNote({ body, caller }: FastifyRequest): Transaction<RouteResponse<201, Static<typeof Note>>> {
  const note = { id: newId('note'), text: (body as { text: string }).text }
  yield* emit('note.seen', { subject: note.id, owner: caller.id, data: { id: note.id } })
  yield* emit('note.added', { subject: note.id, owner: caller.id, data: note })
  return respond(201, note)
}

/** A caller who writes notes with keys on a database of the host. */
async function notes(t: Test, open: Open, steps: typeof addNote = addNote) {
  const storage = await open()
  await storage.migrate([hostMigrations])
  const { app } = await testApp(t, {
    storage,
    routes: (app: FastifyInstance) =>
      app.post(
        '/note',
        {
          config: { access: 'caller' },
          schema: { body: Strict({ text: Type.String() }), response: { 201: Note } },
        },
        (request) => request.transaction(() => steps(request)),
      ),
  })
  const authorization = await bearer('ann')
  const post = (key: string, text: string) =>
    app.inject({
      method: 'POST',
      url: '/note',
      payload: { text },
      headers: { authorization, 'idempotency-key': key },
    })
  return { storage, post }
}

const kept = (storage: Storage) =>
  storage.many<{ body: string | null; event: string | null }>(
    sql`SELECT body, event FROM mortise_idempotency ORDER BY idempotency_key`,
  )

/** Long, and of all that JSON escapes or UTF-8 has several bytes for. */
const TEXT = `"\\\u0001\u2028/<é😀`.repeat(50)

testOnEngines(
  'a response that is the data of an event is kept once, and repeated to the byte',
  async (t, open) => {
    const { storage, post } = await notes(t, open)
    const first = await post('k', TEXT)
    t.equal(first.statusCode, 201)
    const [record] = await kept(storage)
    t.equal(record?.body, null)
    t.match(record?.event, /^event_/)
    const again = async (message: string) => {
      const next = await post('k', TEXT)
      t.equal(next.statusCode, 201, message)
      t.equal(next.headers['idempotent-replayed'], 'true', message)
      t.ok(next.rawPayload.equals(first.rawPayload), message)
    }
    await again('wherever the event is')
    await storage.sequenceOutbox()
    t.equal((await storage.many(sql`SELECT 1 FROM mortise_event`)).length, 2)
    await again('once it has its position')
  },
)

testOnEngines('a response without an equal event is stored in the record', async (t, open) => {
  const unlike = await notes(t, open, function* (request) {
    const { body } = yield* addNote(request)
    return respond(201, { ...body, text: 'another' })
  })
  const first = await unlike.post('k', 'hello')
  t.match(await kept(unlike.storage), [{ body: first.body, event: null }])
  t.equal((await unlike.post('k', 'hello')).body, first.body)
})

testOnEngines('a failed event write stores no response', async (t, open) => {
  const { storage, post } = await notes(t, open, function* (request) {
    const note = { id: newId('note'), text: 'x'.repeat(1001) }
    try {
      yield* emit('note.added', { subject: note.id, owner: request.caller.id, data: note })
    } catch {
      // Its text is too long.
    }
    return respond(201, note)
  })
  const first = await post('k', 'hello')
  t.equal(first.statusCode, 201)
  t.match(await kept(storage), [{ body: first.body, event: null }])
})

testOnEngines('an event stays as long as a stored response needs it', async (t, open) => {
  const { storage, post } = await notes(t, open)
  const first = await post('k', TEXT)
  t.equal(first.statusCode, 201)
  await storage.transaction(() => emit('note.seen', { subject: 'newest', data: { id: 'newest' } }))
  await storage.sequenceOutbox()
  const events = async () => (await storage.many(sql`SELECT 1 FROM mortise_event`)).length
  const age = sql`UPDATE mortise_event SET at = ${currentTime() - DAY - 60_000}`
  await storage.transaction(() => run(age))
  const forgetEvents = (limit = 1_000) => storage.transaction(() => deleteOldest(currentTime() - DAY, limit))
  await forgetEvents()
  t.equal(await events(), 2, 'the newest, and that one, whatever the clocks say')
  t.equal((await post('k', TEXT)).body, first.body)
  await storage.transaction(() =>
    run(sql`UPDATE mortise_idempotency SET created_at = ${currentTime() - DAY}`),
  )
  await storage.transaction(() => forgetExpired())
  await forgetEvents()
  t.equal(await events(), 1)
})

testOnEngines('an event that stays does not keep others', async (t, open) => {
  const { storage, post } = await notes(t, open)
  for (const key of ['a', 'b', 'c']) await post(key, key)
  for (const id of ['d', 'e', 'f'])
    await storage.transaction(() => emit('note.seen', { subject: id, data: { id } }))
  await storage.sequenceOutbox()
  await storage.transaction(() => run(sql`UPDATE mortise_event SET at = 0`))
  // Seen and added of a to c alternate: those seen go first, then d and e, and f is the newest.
  const more: boolean[] = []
  for (let calls = 0; calls < 3; calls += 1) more.push(await storage.transaction(() => deleteOldest(1, 3)))
  t.same(more, [true, false, false])
  const left = await storage.many<{ type: string }>(sql`SELECT type FROM mortise_event ORDER BY position`)
  t.same(
    left.map(({ type }) => type),
    ['note.added', 'note.added', 'note.added', 'note.seen'],
  )
})
