import { eventRoutes } from './event/routes.ts'
import { plugin } from './module.ts'
import { type WebhookOptions, webhooks } from './webhook/webhooks.ts'

export const eventModule = (options?: WebhookOptions) =>
  plugin(async (app, context) => {
    eventRoutes(app, context.events, context.settings)
    webhooks(app, context, options)
  })

export default eventModule()
