import { defineModule } from '@mortise/module-sdk'
import { cartRoutes } from './routes.ts'

export default defineModule('api-cart', async (app, { database }) => {
  cartRoutes(app, database)
})
