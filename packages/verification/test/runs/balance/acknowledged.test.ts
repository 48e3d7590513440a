import t from 'tap'
import { Acknowledged } from '../../../src/runs/balance/acknowledged.ts'

t.test('a cart or a list of purchases that differs from what was acknowledged is reported', async (t) => {
  const acknowledged = new Acknowledged()
  acknowledged.added('tea', 2)
  acknowledged.added('tea', 1)
  acknowledged.purchased('a')
  t.same(acknowledged.compareCart([{ product: 'tea', quantity: 3 }]), [])
  t.same(acknowledged.comparePurchases(['a']), [])
  t.equal(acknowledged.compareCart([]).length, 1)
  t.equal(acknowledged.compareCart([{ product: 'tea', quantity: 4 }]).length, 1)
  const two = { product: 'tea', quantity: 3 }
  t.same(acknowledged.compareCart([two, two]), ['a product has two lines'])
  t.same(acknowledged.comparePurchases(['b', 'b']), [
    '1 purchases are listed twice',
    'a is lost',
    'b was never acknowledged',
    'b was never acknowledged',
  ])
})
