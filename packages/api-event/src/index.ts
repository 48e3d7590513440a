import { eventStreams } from './event/event-streams.ts'
import { eventRoutes } from './event/routes.ts'
import { plugin } from './module.ts'
import { type WebhookOptions, webhooks } from './webhook/webhooks.ts'

export const eventModule = (options?: WebhookOptions) =>
  plugin(async (app, context) => {
    const { events, log, retiring, settings } = context
    eventRoutes(app, events, eventStreams(events, settings, retiring, log))
    webhooks(app, context, options)
  })

export default eventModule()
