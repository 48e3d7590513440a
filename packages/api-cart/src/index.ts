import { deleteExpired } from '@mortise/module-sdk'
import { plugin } from './module.ts'
import { expireReservations, takeReserved } from './reservation.ts'
import { cartRoutes } from './routes.ts'
import { addItem, claimCart, takeFromCart } from './service.ts'
import { reserving } from './shelf.ts'

export default plugin(async (app, { database, settings, contracts, everyMinute, onClaim }) => {
  const catalog = contracts.get('catalog')
  const shop = { ...settings, catalog, pricing: contracts.get('pricing') }
  cartRoutes(app, database, shop)
  contracts.provide('cart', '1.0.0', {
    take: (caller, quantities) => takeFromCart(caller, quantities, shop),
    add: (caller, item) => addItem(caller, item, shop),
    ...(reserving(shop) && { takeReserved: (caller, quantities) => takeReserved(caller, quantities) }),
  })
  onClaim((claim) => claimCart(claim, shop))
  // Also after reservations were switched off.
  if (catalog) everyMinute('expire reservations', () => expireReservations(catalog))
  everyMinute('delete expired', () => deleteExpired('cart', { table: 'cart_item', of: 'cart_id' }))
})
