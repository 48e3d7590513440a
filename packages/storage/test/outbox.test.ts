import { EventEmitter, once } from 'node:events'

import { many, sql } from '@mortise/module-sdk'
import { testOnEngines } from './engines.ts'
import { leaveNote, NOTES, notes } from './notes.ts'

testOnEngines('a step that is not a statement goes to the outbox, with its transaction', async (t, open) => {
  const storage = await open(NOTES, { outbox: notes })
  await storage.transaction(function* () {
    yield* leaveNote('first')
    yield* leaveNote('second')
  })
  const undone = storage.transaction(function* () {
    yield* leaveNote('undone')
    throw new Error('on purpose')
  })
  await t.rejects(undone, { message: 'on purpose' })
  await storage.sequenceOutbox()
  const rows = await storage.many(sql`SELECT position, text FROM note ORDER BY position`)
  t.strictSame(rows, [
    { position: 1, text: 'first' },
    { position: 2, text: 'second' },
  ])
})

testOnEngines('a transaction can catch an error of the outbox', async (t, open) => {
  const storage = await open(NOTES, { outbox: notes })
  const refused = await storage.transaction(function* () {
    try {
      yield* leaveNote('')
    } catch (error) {
      yield* leaveNote('instead')
      return (error as Error).message
    }
    return undefined
  })
  t.equal(refused, 'a note has a text')
  t.strictSame(await storage.many(sql`SELECT text FROM note`), [{ text: 'instead' }])
})

testOnEngines(
  'who listens hears of rows of the outbox, and no longer once that is ended',
  async (t, open) => {
    const storage = await open(NOTES, { outbox: notes })
    const heard = new EventEmitter()
    const stop = storage.onOutbox(() => heard.emit('row'))
    const row = once(heard, 'row')
    await storage.transaction(() => leaveNote('one'))
    await row
    await stop()
    heard.on('row', () => t.fail('ended'))
    await storage.transaction(() => leaveNote('two'))
  },
)

testOnEngines('without an outbox such a step is refused', async (t, open) => {
  const storage = await open(NOTES)
  await t.rejects(
    storage.transaction(() => leaveNote('one')),
    { name: 'TypeError', message: /takes no events/ },
  )
  await storage.sequenceOutbox()
  t.strictSame(await storage.snapshot(() => many(sql`SELECT text FROM note`)), [])
})
