import t from 'tap'
import { ConcurrencyLimit } from '../../../src/http/limits/concurrency-limit.ts'

t.test('an address has its share, and a /64 is one address', async (t) => {
  const shares = new ConcurrencyLimit(2)
  const giveBack = shares.take('2001:db8::1')
  t.type(giveBack, 'function')
  t.type(shares.take('2001:db8::2'), 'function')
  t.equal(shares.take('2001:db8::3'), undefined)
  t.type(shares.take('2001:db8:0:1::1'), 'function')
  giveBack?.()
  t.type(shares.take('2001:db8::3'), 'function')
  t.equal(shares.take('2001:db8::1'), undefined)
})
