import { giveBackStock, resolveProducts, takeStock } from './catalog.ts'
import { plugin } from './module.ts'
import { productRoutes } from './routes.ts'

export default plugin(async (app, { database, contracts }) => {
  productRoutes(app, database)
  contracts.provide('catalog', '1.0.0', {
    resolve: resolveProducts,
    take: takeStock,
    giveBack: giveBackStock,
  })
})
