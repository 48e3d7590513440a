import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createTestHost, onEngines } from '@mortise/module-testkit'

const sold = dirname(import.meta.dirname)
const purchase = dirname(fileURLToPath(import.meta.resolve('@mortise/api-purchase/package.json')))

onEngines(test)('what is purchased is counted', async (t) => {
  const host = await createTestHost(t, { modules: [{ directory: purchase }, { directory: sold }] })
  for (const quantity of [1, 2]) {
    await host.user('ann').post('/purchase', { items: [{ product: 'beans', quantity }] })
  }
  await host.reacted()
  assert.deepEqual((await host.guest().get('/sold')).json(), { data: [{ product: 'beans', quantity: 3 }] })
})
