import { sql } from '@mortise/module-sdk'
import t from 'tap'
import { type ReadThread, ReadThreads } from '../../src/sqlite/read-threads.ts'
import { temporaryStorage } from '../temporary-storage.ts'

t.test('two read at once, the next waits; a thread that is lost fails its read only', async (t) => {
  const { file } = await temporaryStorage(
    t,
    'CREATE TABLE item (id INTEGER PRIMARY KEY); INSERT INTO item VALUES (1)',
  )
  const threads = new ReadThreads(file)
  t.teardown(() => threads.close(new Error('over')))
  const held = Promise.withResolvers<void>()
  const used = new Set<ReadThread>()
  const read = (until: Promise<unknown>) =>
    threads.with(async (thread) => {
      used.add(thread)
      await until
      return thread.read(sql`SELECT id FROM item`, 'rows')
    })
  const first = [read(held.promise), read(held.promise)]
  let isThird = false
  const third = read(Promise.resolve()).finally(() => {
    isThird = true
  })
  await new Promise(setImmediate)
  t.equal(used.size, 2)
  t.notOk(isThird)
  held.resolve()
  t.strictSame(await Promise.all([...first, third]), [[{ id: 1 }], [{ id: 1 }], [{ id: 1 }]])
  t.equal(used.size, 2, 'and they are used again')

  await t.rejects(
    threads.with(async (thread) => {
      await thread.close(new Error('lost'))
      return thread.read(sql`SELECT id FROM item`, 'rows')
    }),
    { message: 'lost' },
  )
  t.strictSame(await read(Promise.resolve()), [{ id: 1 }])
})
