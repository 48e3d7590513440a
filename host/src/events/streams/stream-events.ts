import { Readable } from 'node:stream'
import {
  type Caller,
  type EventLog,
  insufficientScope,
  Problem,
  type StreamedEvents,
  type StreamLimits,
  streamProblems,
} from '@mortise/module-sdk'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { type Beginning, EventStreams } from './event-streams.ts'
import type { Reader } from './reader.ts'
import { LIMITS } from './stream-counts.ts'

interface Options {
  readonly events: EventLog
  readonly retiring: AbortSignal
}

/** The cursor before all events, for a reader without one. */
const START = 'start'

/** Proxies must neither store nor buffer the response. */
const HEAD = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }

/** Provides `reply.streamEvents`. */
export const streamEvents = fp<Options>(
  async (app, { events, retiring }) => {
    const streams = new EventStreams(events, retiring, app.log)
    app.decorateReply('streamEvents', async function (this: FastifyReply, wanted: StreamedEvents = {}) {
      const { request } = this
      const reader = readerOf(this, wanted.limits)
      if (!(await request.credentialsHold())) throw credentialsNeeded(reader)
      const { types, subject } = wanted
      const selection = { types, subject, owner: ownerFor(reader.caller, wanted.owner) }
      const lastEventId = request.headers['last-event-id'] as string | undefined
      const cursor = lastEventId || wanted.after
      const beginning = await beginningOf(events, reader, selection.owner, cursor)
      if (request.method === 'HEAD') return void (await this.headers(HEAD).send(Readable.from([])))
      this.holdOpen(wanted.limits)
      const stream = streams.open(reader, selection, beginning)
      // The host ends the response, like any other, if the client stops reading. `close` also comes after
      // another response, such as a problem.
      this.raw.once('close', () => stream.destroy())
      await this.headers(HEAD).send(stream)
    })
  },
  { name: 'stream-events', fastify: '5.x', dependencies: ['callers', 'hold-open'] },
)

function readerOf({ request }: FastifyReply, limits: Partial<StreamLimits> = {}): Reader {
  const { module = 'host' } = request.routeOptions.config
  return {
    caller: request.caller,
    limits: { ...LIMITS, ...limits },
    problem: (code, detail, headers = {}) =>
      new Problem(module, code, streamProblems[code], detail, { headers }),
  }
}

/** Undefined for all owners, as in a query of the log. */
function ownerFor(caller: Caller, owner = caller.id): string | undefined {
  if (owner !== caller.id && !caller.has('event:read'))
    throw insufficientScope('event:read', "see other callers' events")
  return owner === '*' ? undefined : owner
}

/** Without a caller there are no events to show. */
const credentialsNeeded = ({ problem }: Reader) =>
  problem(
    'credentials-needed',
    'A stream needs a caller: send Authorization: Bearer and a token, or the Guest-Token of a guest.',
    { 'www-authenticate': 'Bearer' },
  )

/**
 * After the reader's last event, or at the next event. For the latter, the cursor is the newest
 * event that the reader may see: the newest of all would reveal the activity of others.
 */
async function beginningOf(
  events: EventLog,
  { caller, problem }: Reader,
  owner: string | undefined,
  cursor: string | undefined,
): Promise<Beginning> {
  if (cursor === START) return { cursor, position: 0 }
  if (cursor === undefined) {
    const newest = await events.newest(owner)
    return newest ? { cursor: newest.id, position: newest.position } : { cursor: START, position: 0 }
  }
  // Another caller's event is as unknown as one that never existed.
  const position = await events.find(cursor, caller.has('event:read') ? undefined : caller.id)
  if (position !== undefined) return { cursor, position }
  throw problem(
    'event-gone',
    'The event after which you want to continue does not exist any more: events are deleted after some time, so you may have missed later ones too. Read the resources themselves, then begin again, with `start` for the oldest event.',
  )
}
