import { defineModule } from '@mortise/module-sdk'
import { EventStreams } from './event/event-streams.ts'
import { eventRoutes } from './event/routes.ts'
import type { Settings } from './settings.ts'

export default defineModule<Settings>('api-event', async (app, { events, log, retiring, settings }) => {
  eventRoutes(app, events, new EventStreams(events, settings, retiring, log), settings)
})
