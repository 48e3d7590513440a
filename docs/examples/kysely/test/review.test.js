import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

onEngines(test)('queries of Kysely run in the transactions of the host', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: dirname(import.meta.dirname) }] })
  const ann = host.user('ann')
  const reviews = []
  for (const [product, stars] of [
    ['tea', 3],
    ["a 'cup' of $1?", 5],
    ['tea', 4],
  ]) {
    const added = await ann.post('/review', { product, stars })
    assert.equal(added.statusCode, 201)
    reviews.push(added.json())
  }
  const [fair, best, good] = reviews
  const listed = async (query) => (await ann.get(`/review${query}`)).json().data
  assert.deepEqual(await listed(''), [best, good, fair])
  assert.deepEqual(await listed('?product=tea'), [good, fair])
  assert.deepEqual(await listed('?product=tea&minStars=4'), [good])
  assert.deepEqual((await host.guest().get('/review')).json(), { data: [] })
})
