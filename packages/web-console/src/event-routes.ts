import {
  type CloudEvent,
  type Event,
  type EventLog,
  type ModuleInstance,
  Strict,
  toCloudEvent,
} from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { responses } from './module.ts'
import { PassedOn } from './passed-on.ts'
import type { Parts } from './session-routes.ts'

/** So many positions one read of the log looks at, if not all events are wanted. */
const WINDOW = 1000
/** So many reads look for the events of a filter: the page asks for more. */
const READS = 20

const Query = Strict({
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  types: Type.Optional(Type.String({ minLength: 1, maxLength: 2048 })),
  subject: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
})

const Page = PassedOn<{ data: CloudEvent[]; before: number | null }>('events, and where the next page begins')

/** The event log from its end: everyone's events with `event:read`, else those of the user. */
export function eventRoutes(app: ModuleInstance, { sessions }: Parts, events: EventLog): void {
  app.get(
    '/console/event',
    {
      config: { access: 'public' },
      schema: {
        hide: true,
        summary: 'The event log from its end',
        querystring: Query,
        response: { 200: Page, ...responses('not-signed-in', 'invalid-request') },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { user } = await sessions.of(request)
      const { before, limit, types, subject } = request.query
      const seesAll = user.scopes.includes('admin') || user.scopes.includes('event:read')
      const wanted = { types: types?.split(','), subject, owner: seesAll ? undefined : user.id }
      const found = await newest(events, wanted, limit, before)
      return { data: found.data.map(toCloudEvent), before: found.before }
    },
  )
}

type Wanted = Pick<Parameters<EventLog['read']>[0], 'types' | 'subject' | 'owner'>

/**
 * Events newest first. It looks at 20,000 positions at most, so it may find fewer than `limit`.
 * @param before only events at earlier positions
 * @returns `before` of the next page; null at the beginning of the log
 */
export async function newest(
  events: EventLog,
  wanted: Wanted,
  limit: number,
  before?: number,
): Promise<{ readonly data: Event[]; readonly before: number | null }> {
  const isAll = Object.values(wanted).every((filter) => filter === undefined)
  const window = isAll ? limit : WINDOW
  const [oldest] = (await events.read({ after: 0, limit: 1 })).events
  const data: Event[] = []
  let end = Math.min(before ?? Infinity, (await events.last()) + 1)
  for (let reads = 0; oldest !== undefined && end > oldest.position && reads < READS; reads++) {
    const after = Math.max(end - 1 - window, 0)
    const found = (await events.read({ ...wanted, after, limit: window })).events
    const added = found.filter(({ position }) => position < end).reverse()
    data.push(...added)
    if (data.length >= limit) {
      const last = data[limit - 1] as Event
      return { data: data.slice(0, limit), before: last.position > oldest.position ? last.position : null }
    }
    end = after + 1
  }
  return { data, before: oldest === undefined || end <= oldest.position ? null : end }
}
