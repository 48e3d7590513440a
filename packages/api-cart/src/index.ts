import { deleteExpired } from '@mortise/module-sdk'
import { plugin } from './module.ts'
import { cartRoutes } from './routes.ts'
import { addItem, claimCart, takeFromCart } from './service.ts'

export default plugin(async (app, { database, contracts, everyMinute, onClaim }) => {
  const catalog = contracts.get('catalog')
  cartRoutes(app, database, { catalog, pricing: contracts.get('pricing') })
  contracts.provide('cart', '1.2.0', {
    take: takeFromCart,
    add: (caller, item) => addItem(caller, item, catalog),
  })
  onClaim(claimCart)
  everyMinute('delete expired', () => deleteExpired('cart', { table: 'cart_item', of: 'cart_id' }))
})
