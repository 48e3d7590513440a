import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import t from 'tap'
import { Acknowledged } from '../../src/balance/acknowledged.ts'
import { runBalance } from '../../src/balance/run-balance.ts'

const server = process.env.APP_TEST_DATABASE_URL
const skip = server === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

// A slice of `npm run balance`, without nginx: the clients take the hosts in turn.
t.test('two hosts lose and double nothing while a module is changed on both', { skip }, async (t) => {
  const schema = `test_${randomBytes(8).toString('hex')}`
  t.teardown(async () => {
    const client = new Client({ connectionString: server })
    await client.connect()
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  })
  const database = `${server}?schema=${schema}`
  const { failures, requests, purchases, changes } = await runBalance({
    ...{ database, hosts: 2, clients: 8, rounds: 1, seed: 1, nginx: false },
  })
  t.same(failures, [])
  t.equal(changes, 10)
  t.ok(requests > 200, `${requests} requests`)
  t.ok(purchases > 20, `${purchases} purchases`)
})

t.test('what is not what was acknowledged is told', async (t) => {
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
