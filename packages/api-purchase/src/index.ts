import { currentTime } from '@mortise/module-sdk'
import { plugin } from './module.ts'
import { purchaseRoutes } from './routes.ts'
import { giveBackLate } from './sale.ts'
import { claimPurchases, expirePending } from './service.ts'

export default plugin(async (app, { database, settings, contracts, audit, everyMinute, onClaim }) => {
  const catalog = contracts.get('catalog')
  purchaseRoutes(app, database, { cart: contracts.get('cart'), catalog, pricing: contracts.get('pricing') })
  onClaim(claimPurchases)
  const age = settings.expirePendingAfterMinutes * 60_000
  if (age > 0) everyMinute('expire', () => expirePending(currentTime() - age, audit, catalog))
  if (catalog) everyMinute('give back', () => giveBackLate(catalog))
})
