import { type EventLog, eventStream, type ModuleInstance } from '@mortise/module-sdk'
import { responses } from '../module.ts'
import type { Settings } from '../settings.ts'
import { acceptsStream } from './accepts-stream.ts'
import { EventHeaders, EventQuery, EventResponse } from './schemas.ts'
import { selectionOf } from './selection.ts'
import { listEvents } from './service.ts'

/** The caller's events, and everyone's with a scope. */
export function eventRoutes(app: ModuleInstance, events: EventLog, limits: Settings): void {
  app.get(
    '/event',
    {
      config: { access: 'caller' },
      schema: {
        summary: 'List past events, oldest first, or stream new ones',
        querystring: EventQuery,
        headers: EventHeaders,
        response: {
          ...eventStream.response,
          ...responses('insufficient-scope'),
          200: EventResponse,
        },
      },
    },
    async (request, reply) => {
      const { caller, headers, query, url } = request
      if (!acceptsStream(headers.accept)) return listEvents(events, caller, query, url)
      const { types, subject, owner = '*' } = selectionOf(caller, query)
      return reply.streamEvents({ types, subject, owner, after: query.after, limits })
    },
  )
}
