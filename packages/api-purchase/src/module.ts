import { defineModule } from '@mortise/module-sdk'
import { countRegularly } from './counting.ts'
import { emit } from './events.ts'
import { purchaseRoutes } from './routes.ts'
import { claimPurchases, expirePending } from './service.ts'
import type { Settings } from './settings.ts'

export default defineModule<Settings>(
  'api-purchase',
  async (app, { database, settings, contracts, audit, everyMinute, onClaim, emits }) => {
    emits(emit)
    purchaseRoutes(app, database, contracts.get('cart'))
    countRegularly(app, database)
    onClaim((claim) => claimPurchases(claim))
    const age = settings.expirePendingAfterMinutes * 60_000
    if (age > 0) everyMinute('expire', () => expirePending(Date.now() - age, audit))
  },
)
