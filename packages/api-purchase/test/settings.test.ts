import t from 'tap'
import { purchaseHost } from './purchase-host.ts'

t.test('an invalid setting stops the host, which names it', async (t) => {
  const config = { modules: { 'api-purchase': { expirePendingAfterMinutes: -1 } } }
  await t.rejects(purchaseHost(t, { config }), /expirePendingAfterMinutes/)
})
