import { plugin } from './module.ts'
import { myThingRoutes } from './routes.ts'
import { claimMyThings } from './service.ts'

export default plugin(async (app, { database, settings, onClaim }) => {
  myThingRoutes(app, database, settings.mostPerCaller)
  onClaim(claimMyThings)
})
