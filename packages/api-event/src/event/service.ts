import { type Caller, type EventLog, toCloudEvent } from '@mortise/module-sdk'
import { linkTo } from '../link.ts'
import { eventGone } from '../module.ts'
import type { EventPage, EventQuery } from './schemas.ts'
import { selectionOf } from './selection.ts'

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
  const position = await positionOf(events, caller, after)
  const { events: found, next } = await events.read({ ...selection, after: position, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = found.length > limit ? shown.at(-1) : (next ?? shown.at(-1))
  return {
    data: shown.map(toCloudEvent),
    next: linkTo(url, 'after', last?.id ?? after),
    more: found.length > limit || next !== undefined,
  }
}

/** Another caller's event is as unknown as one that never existed. */
async function positionOf(events: EventLog, caller: Caller, cursor: string): Promise<number> {
  if (cursor === START) return 0
  const position = await events.find(cursor, caller.has('event:read') ? undefined : caller.id)
  if (position === undefined) throw eventGone()
  return position
}
