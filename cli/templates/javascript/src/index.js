import { plugin } from './module.js'
import { myThingRoutes } from './routes.js'
import { claimMyThings } from './service.js'

export default plugin(async (app, { database, settings, onClaim }) => {
  myThingRoutes(app, database, settings.mostPerCaller)
  onClaim(claimMyThings)
})
