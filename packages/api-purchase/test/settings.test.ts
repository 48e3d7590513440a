import t from 'tap'
import { purchaseHost } from './purchase-host.ts'

t.test('a setting that is wrong stops the host, by its name', async (t) => {
  const config = { modules: { 'api-purchase': { expirePendingAfterMinutes: -1 } } }
  await t.rejects(purchaseHost(t, { config }), /expirePendingAfterMinutes/)
})
