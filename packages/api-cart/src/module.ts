import { defineModule } from '@mortise/module-sdk'
import { emit } from './events.ts'
import { cartRoutes } from './routes.ts'
import { claimCart, deleteExpired, takeFromCart } from './service.ts'

export default defineModule('api-cart', async (app, { database, contracts, everyMinute, onClaim, emits }) => {
  emits(emit)
  cartRoutes(app, database)
  contracts.provide('cart', { take: (caller, quantities) => takeFromCart(caller, quantities) })
  onClaim((claim) => claimCart(claim))
  everyMinute('delete expired', () => deleteExpired())
})
