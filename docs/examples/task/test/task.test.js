import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost, onEngines } from '@mortise/module-testkit'

onEngines(test)('a caller sees the tasks that they added, and nobody else does', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: dirname(import.meta.dirname) }] })
  const ann = host.user('ann')
  const added = await ann.post('/task', { text: 'buy milk' })
  assert.equal(added.statusCode, 201)
  assert.deepEqual((await ann.get('/task')).json(), { data: [added.json()] })
  assert.deepEqual((await host.guest().get('/task')).json(), { data: [] })
})
