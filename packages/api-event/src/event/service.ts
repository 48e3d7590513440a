import { type Caller, type EventLog, toCloudEvent } from '@mortise/module-sdk'
import { linkTo } from '../link.ts'
import { eventGone } from '../module.ts'
import type { Beginning } from './event-streams.ts'
import type { EventPage, EventQuery } from './schemas.ts'
import { type Selection, selectionOf } from './selection.ts'

/** The cursor before all events, for a reader without one. */
const START = 'start'

/** @param url the URL of the request; the `next` link keeps its filters */
export async function listEvents(
  events: EventLog,
  caller: Caller,
  { after = START, limit, ...filter }: EventQuery,
  url: string,
): Promise<EventPage> {
  const selection = selectionOf(caller, filter)
  const { position } = await goOnAfter(events, caller, after, 'after')
  const found = await events.read({ ...selection, after: position, limit: limit + 1 })
  const shown = found.slice(0, limit)
  return {
    data: shown.map(toCloudEvent),
    next: linkTo(url, 'after', shown.at(-1)?.id ?? after),
    more: found.length > limit,
  }
}

/**
 * The start of a stream: after the reader's last event, or at the next event. For the latter, the
 * cursor is the newest event that the reader may see. The newest of all would reveal the activity
 * of others.
 */
export async function beginningOf(
  events: EventLog,
  caller: Caller,
  { owner }: Selection,
  after: string | undefined,
  lastEventId: string | undefined,
): Promise<Beginning> {
  if (lastEventId) return goOnAfter(events, caller, lastEventId, 'Last-Event-ID')
  if (after !== undefined) return goOnAfter(events, caller, after, 'after')
  const newest = await events.newest(owner)
  return newest ? { cursor: newest.id, position: newest.position } : { cursor: START, position: 0 }
}

/** Another caller's event is as unknown as one that never existed. `name` has the cursor. */
async function goOnAfter(events: EventLog, caller: Caller, cursor: string, name: string): Promise<Beginning> {
  if (cursor === START) return { cursor, position: 0 }
  const position = await events.find(cursor, caller.has('event:read') ? undefined : caller.id)
  if (position === undefined) throw eventGone(name)
  return { cursor, position }
}
