import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { createTestHost } from '@mortise/module-testkit'

test('the module says that a user asks', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: dirname(import.meta.dirname) }] })
  assert.deepEqual((await host.user('ann').get('/my-thing')).json(), { kind: 'user' })
})
