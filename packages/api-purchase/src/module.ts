import { defineModule } from '@mortise/module-sdk'
import { countRegularly } from './counting.ts'
import { expireRegularly } from './expiry.ts'
import { purchaseRoutes } from './routes.ts'
import type { Settings } from './settings.ts'

export default defineModule<Settings>('api-purchase', async (app, { database, settings }) => {
  purchaseRoutes(app, database)
  countRegularly(app, database)
  if (settings.expirePendingAfterMinutes > 0) {
    expireRegularly(app, database, settings.expirePendingAfterMinutes * 60_000)
  }
})
