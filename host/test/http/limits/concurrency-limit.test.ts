import t from 'tap'
import { ConcurrencyLimit } from '../../../src/http/limits/concurrency-limit.ts'

t.test('each key has its share', async (t) => {
  const shares = new ConcurrencyLimit(2)
  const giveBack = shares.take('ann')
  t.type(giveBack, 'function')
  t.type(shares.take('ann'), 'function')
  t.equal(shares.take('ann'), undefined)
  t.type(shares.take('bob'), 'function')
  giveBack?.()
  t.type(shares.take('ann'), 'function')
  t.equal(shares.take('ann'), undefined)
})
