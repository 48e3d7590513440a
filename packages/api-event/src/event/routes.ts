import { Readable } from 'node:stream'
import type { EventLog, ModuleInstance } from '@mortise/module-sdk'
import { credentialsNeeded, responses } from '../module.ts'
import { acceptsStream } from './accepts-stream.ts'
import type { OpenStream } from './event-streams.ts'
import { EventHeaders, EventQuery, EventResponse } from './schemas.ts'
import { selectionOf } from './selection.ts'
import { beginningOf, listEvents } from './service.ts'

/** The caller's events, and everyone's with a scope. */
export function eventRoutes(app: ModuleInstance, events: EventLog, openStream: OpenStream): void {
  app.get(
    '/event',
    {
      config: { access: 'caller' },
      schema: {
        summary: 'List past events, oldest first, or stream new ones',
        querystring: EventQuery,
        headers: EventHeaders,
        response: {
          200: EventResponse,
          ...responses(
            'credentials-needed',
            'insufficient-scope',
            'event-gone',
            'too-many-streams',
            'too-many-streams-per-address',
            'streams-exhausted',
            'guest-streams-exhausted',
          ),
        },
      },
    },
    async (request, reply) => {
      const { caller, headers, ip, query, url } = request
      if (!acceptsStream(headers.accept)) return listEvents(events, caller, query, url)
      if (!(await request.credentialsHold())) throw credentialsNeeded()
      const selection = selectionOf(caller, query)
      const beginning = await beginningOf(events, caller, selection, query.after, headers['last-event-id'])
      // Proxies must neither store nor buffer the response.
      const head = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
      const send = (stream: Readable) => reply.headers(head).send(stream as never)
      if (request.method === 'HEAD') return send(Readable.from([]))
      const reader = { caller, address: ip, isEntitled: () => request.credentialsHold() }
      const stream = openStream(reader, selection, beginning)
      // The host ends the response, like any other, if the client stops reading. `close` also comes after
      // another response, such as a problem.
      reply.raw.once('close', () => stream.destroy())
      return send(stream)
    },
  )
}
