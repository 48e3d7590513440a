import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const testOnEngines = onEngines(test)

/** A real host that serves this module on a database of its own, until the test `t` ends. */
const noteHost = (t, settings = {}) =>
  createTestHost(t, {
    modules: [{ directory: dirname(import.meta.dirname) }],
    config: { modules: { note: settings } },
  })

testOnEngines('a note is written, read and deleted', async (t) => {
  const ann = (await noteHost(t)).user('ann')
  const written = await ann.post('/note', { text: 'milk' })
  assert.equal(written.statusCode, 201)
  assert.deepEqual((await ann.get(written.headers.location)).json(), written.json())
  assert.deepEqual((await ann.get('/note')).json(), { data: [written.json()] })
  assert.equal((await ann.delete(written.headers.location)).statusCode, 200)
  assert.deepEqual((await ann.get('/note')).json(), { data: [] })
})

testOnEngines('a note of another caller is not found', async (t) => {
  const host = await noteHost(t)
  const { location } = (await host.user('ann').post('/note', { text: 'milk' })).headers
  for (const other of [host.user('ben'), host.guest()]) {
    assert.equal((await other.get(location)).json().code, 'note-not-found')
    assert.equal((await other.delete(location)).statusCode, 404)
  }
})

testOnEngines('the hundred-and-first note is refused', async (t) => {
  const ann = (await noteHost(t)).user('ann')
  for (let count = 0; count < 100; count++) await ann.post('/note', { text: 'milk' })
  const refused = await ann.post('/note', { text: 'milk' })
  assert.equal(refused.statusCode, 409)
  assert.equal(refused.json().code, 'too-many-notes')
})

testOnEngines('keepFor says when a note expires', async (t) => {
  const ann = (await noteHost(t, { keepFor: '2h' })).user('ann')
  const { createdAt, expiresAt } = (await ann.post('/note', { text: 'milk' })).json()
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 2 * 60 * 60 * 1000)
})

testOnEngines('a field that is wrong is named', async (t) => {
  const ann = (await noteHost(t)).user('ann')
  const refused = await ann.post('/note', { text: '' })
  assert.equal(refused.statusCode, 400)
  assert.equal(refused.json().errors[0].pointer, '/text')
})
