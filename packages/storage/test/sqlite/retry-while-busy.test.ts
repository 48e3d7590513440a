import { DatabaseError } from '@mortise/module-sdk'
import t from 'tap'
import { retryWhileBusy } from '../../src/sqlite/connection.ts'
import { locked } from '../temporary-storage.ts'

t.test('runs again while busy', async (t) => {
  let attempts = 0
  const result = await retryWhileBusy(() => {
    attempts++
    if (attempts < 3) throw locked()
    return 'done'
  })
  t.strictSame([result, attempts], ['done', 3])
})

t.test('stops after its time limit, and at once on any other error', async (t) => {
  const busy = locked()
  await t.rejects(
    retryWhileBusy(() => {
      throw busy
    }, 10),
    busy,
  )
  let attempts = 0
  await t.rejects(
    retryWhileBusy(() => {
      attempts++
      throw new DatabaseError('unique', 'there')
    }),
    { name: 'DatabaseError', kind: 'unique' },
  )
  t.equal(attempts, 1)
})
