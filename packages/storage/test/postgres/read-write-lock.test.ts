import t from 'tap'
import { ReadWriteLock } from '../../src/postgres/read-write-lock.ts'

/** Works that note when they begin, and end when they are asked to. */
function works(lock: ReadWriteLock) {
  const log: string[] = []
  const start = (how: 'shared' | 'exclusive', name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = lock[how](() => {
      log.push(name)
      return promise
    })
    return { done, resolve, reject }
  }
  return { log, start }
}

/** Long enough for whatever may begin to have begun. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('a writer waits for readers inside, and later readers wait for it', async (t) => {
  const { log, start } = works(new ReadWriteLock())
  const [first, second] = [start('shared', 'a'), start('shared', 'b')]
  const alone = start('exclusive', 'alone')
  const next = start('exclusive', 'alone too')
  const later = start('shared', 'later')
  await settled()
  t.strictSame(log, ['a', 'b'])
  first.resolve()
  second.reject(new Error('mine'))
  await t.rejects(second.done, { message: 'mine' })
  await settled()
  t.strictSame(log, ['a', 'b', 'alone'])
  alone.reject(new Error('mine'))
  await t.rejects(alone.done, { message: 'mine' })
  await settled()
  t.strictSame(log, ['a', 'b', 'alone', 'alone too'])
  next.resolve()
  later.resolve()
  await Promise.all([next.done, later.done])
  t.strictSame(log.at(-1), 'later')
})
