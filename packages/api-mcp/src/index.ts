import { plugin } from './module.ts'
import { mcpRoutes } from './routes.ts'

export default plugin(async (app, context) => mcpRoutes(app, context))
