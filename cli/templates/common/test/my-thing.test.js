import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const modules = [{ directory: dirname(import.meta.dirname) }]
const testOnEngines = onEngines(test)

testOnEngines('a caller adds, lists, shows and deletes things', async (t) => {
  const host = await createTestHost(t, { modules })
  const ann = host.user('ann')
  const added = await ann.post('/my-thing', { text: 'tea' })
  assert.equal(added.statusCode, 201)
  assert.equal(added.headers.location, `/my-thing/${added.json().id}`)
  assert.deepEqual((await ann.get('/my-thing')).json().data, [added.json()])
  assert.deepEqual((await ann.get(added.headers.location)).json(), added.json())

  const { id } = added.json()
  assert.deepEqual((await ann.delete(`/my-thing/${id}`)).json(), { id, deleted: true })
  assert.equal((await ann.delete(`/my-thing/${id}`)).json().code, 'my-thing-not-found')
  const types = (await host.events()).map(({ type }) => type)
  assert.deepEqual(types, ['my-thing.created', 'my-thing.deleted'])
})

testOnEngines('nobody reaches what belongs to another caller', async (t) => {
  const host = await createTestHost(t, { modules })
  const { id } = (await host.user('ann').post('/my-thing', { text: 'tea' })).json()
  for (const other of [host.user('bob'), host.guest()]) {
    assert.equal((await other.get('/my-thing')).json().total, 0)
    assert.equal((await other.get(`/my-thing/${id}`)).statusCode, 404)
    assert.equal((await other.delete(`/my-thing/${id}`)).statusCode, 404)
  }
})

testOnEngines('a caller has at most so many things', async (t) => {
  const config = { modules: { 'my-thing': { mostPerCaller: 1 } } }
  const host = await createTestHost(t, { modules, config })
  assert.equal((await host.user('ann').post('/my-thing', { text: 'tea' })).statusCode, 201)
  assert.equal((await host.user('ann').post('/my-thing', { text: 'milk' })).json().code, 'my-thing-limit')
})

testOnEngines('a guest who signs in keeps their things', async (t) => {
  const host = await createTestHost(t, { modules })
  const guest = host.guest()
  await guest.post('/my-thing', { text: 'tea' })
  const ann = host.user('ann')
  await ann.claim(guest)
  assert.equal((await ann.get('/my-thing')).json().total, 1)
})
