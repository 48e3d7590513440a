import type { EventLog, ModuleInstance } from '@mortise/module-sdk'
import { credentialsNeeded, problems } from '../problems.ts'
import type { Settings } from '../settings.ts'
import { acceptsStream } from './accepts-stream.ts'
import type { EventStreams } from './event-streams.ts'
import { EventAnswer, EventHeaders, EventQuery } from './schemas.ts'
import { selectionOf } from './selection.ts'
import { sendHead, sendStream } from './send-stream.ts'
import { beginningOf, listEvents } from './service.ts'

/** The caller's events, and with a scope everyone's. */
export function eventRoutes(
  app: ModuleInstance,
  events: EventLog,
  streams: EventStreams,
  { slowReaderSeconds }: Settings,
): void {
  app.get(
    '/event',
    {
      config: { access: 'caller' },
      schema: {
        summary: 'What happened, oldest first, or what happens from now on',
        querystring: EventQuery,
        headers: EventHeaders,
        response: {
          200: EventAnswer,
          ...problems.responses(
            'credentials-needed',
            'insufficient-scope',
            'event-gone',
            'too-many-streams',
            'streams-exhausted',
          ),
        },
      },
    },
    async (request, reply) => {
      const { caller, headers, query, url } = request
      if (!acceptsStream(headers.accept)) return listEvents(events, caller, query, url)
      if (!(await request.credentialsHold())) throw credentialsNeeded()
      const selection = selectionOf(caller, query)
      const beginning = await beginningOf(events, selection, query.after, headers['last-event-id'])
      if (request.method === 'HEAD') return sendHead(reply)
      const stream = streams.open(caller, selection, beginning, () => request.credentialsHold())
      return sendStream(reply, stream, slowReaderSeconds * 1000)
    },
  )
}
