import {
  type Database,
  type databaseTime,
  type Event,
  type EventLog,
  many,
  maybeOne,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import { countPending, insertDelivery } from './deliveries.ts'
import { isProven } from './proof.ts'
import { ALL_TYPES, findMatching, type Match, notBehind, type WebhookRow } from './repository.ts'

/**
 * A webhook at its limit of pending deliveries is behind: it gets no more, and catches up from the
 * event log later. It has the deliveries of its events up to the position `filled_to`. `skipped_to`
 * is the last event that it missed. When `filled_to` reaches `skipped_to`, both become null, and
 * the webhook follows again.
 */

/** The most deliveries per transaction, and the most webhooks per query. */
const BATCH = 100

/** Creates a delivery of an event for each enabled webhook that matches and has room. */
export function* fanOut(event: Event, mostPending: number, clock: typeof databaseTime): Transaction<void> {
  const webhooks = yield* findMatching(event)
  if (webhooks.length === 0) return
  const now = yield* clock()
  for (const webhook of webhooks) {
    if (!isProven(webhook, now)) continue
    if (yield* mayAdd(webhook, event.position, mostPending, now)) yield* insertDelivery(event, webhook, now)
  }
}

/** Whether a webhook gets its delivery of an event now. If not, notes the event as missed. */
function* mayAdd(
  { id, filledTo }: Match,
  position: number,
  mostPending: number,
  now: number,
): Transaction<boolean> {
  // The handler failed for this event before, and later events overtook it.
  if (filledTo !== null && position <= filledTo) return true
  if (filledTo === null && (yield* countPending(id, mostPending)) < mostPending) return true
  const begin = filledTo === null ? sql`, filled_to = ${position - 1}, behind_since = ${now}` : sql``
  yield* run(sql`
    UPDATE webhook SET skipped_to = CASE WHEN skipped_to > ${position} THEN skipped_to ELSE ${position} END ${begin}
    WHERE id = ${id}`)
  return false
}

type Behind = Pick<WebhookRow, 'id' | 'owner' | 'everyone' | 'types' | 'provenUntil' | 'version'> & {
  readonly filledTo: number
}

/** What filling needs. Any number of processes may do it on one database. */
export interface Filling {
  readonly database: Database
  readonly events: EventLog
  readonly clock: typeof databaseTime
  /** The most pending deliveries of a webhook. */
  readonly mostPending: number
}

/** Checks all webhooks that are behind, in case the regular filling missed one. */
export async function fillAll(filling: Filling): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const after: string = last
    const rows = await filling.database.snapshot(() =>
      many<{ id: string }>(sql`
        SELECT id FROM webhook WHERE filled_to IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${BATCH}`),
    )
    for (const { id } of rows) await fillUp(filling, id)
    last = rows.at(-1)?.id
  }
}

/** Creates deliveries for a webhook until it is full or no longer behind. */
export async function fillUp(filling: Filling, webhook: string): Promise<void> {
  while (await fill(filling, webhook));
}

async function fill({ database, events: log, clock, mostPending }: Filling, id: string): Promise<boolean> {
  const found = await database.snapshot(function* () {
    const webhook = yield* maybeOne<Behind>(sql`
      SELECT id, owner, everyone, types, proven_until AS "provenUntil", version, filled_to AS "filledTo"
      FROM webhook WHERE id = ${id} AND filled_to IS NOT NULL`)
    if (webhook === undefined || !isProven(webhook, yield* clock())) return undefined
    return { webhook, room: mostPending - (yield* countPending(id, mostPending)) }
  })
  if (found === undefined || found.room <= 0) return false
  const { webhook, room } = found
  const { events, upTo, missedUntil } = await readBehind(log, webhook, Math.min(room, BATCH))
  await database.transaction(function* () {
    if (!(yield* moveFilledTo(webhook, upTo))) return
    const now = yield* clock()
    for (const event of events) yield* insertDelivery(event, webhook, now)
    if (missedUntil !== undefined) {
      yield* run(sql`UPDATE webhook SET missed_until = ${missedUntil} WHERE id = ${id}`)
    }
  })
  return true
}

/** The next events, the position up to which there are no others, and the oldest time kept. */
async function readBehind(
  log: EventLog,
  { owner, everyone, types, filledTo }: Behind,
  limit: number,
): Promise<{ events: Event[]; upTo: number; missedUntil: number | undefined }> {
  // Events up to this position exist before the search, so the search finds each one or does not
  // match it.
  const seen = await log.last()
  const chosen: string[] = JSON.parse(types)
  const [oldest] = (await log.read({ after: filledTo, limit: 1 })).events
  const { events, next } = await log.read({
    after: filledTo,
    limit,
    types: chosen.includes(ALL_TYPES) ? undefined : chosen,
    owner: everyone === 1 ? undefined : owner,
  })
  const last = events.at(-1)?.position ?? filledTo
  return {
    events,
    upTo: next?.position ?? Math.max(last, seen),
    missedUntil: oldest !== undefined && oldest.position > filledTo + 1 ? oldest.at : undefined,
  }
}

/** False if the webhook changed in the meantime, or another process filled it. */
function* moveFilledTo({ id, filledTo, version }: Behind, upTo: number): Transaction<boolean> {
  const moved = yield* run(sql`
    UPDATE webhook SET filled_to = ${upTo}
    WHERE id = ${id} AND filled_to = ${filledTo} AND version = ${version}`)
  yield* run(sql`UPDATE webhook SET ${notBehind} WHERE id = ${id} AND skipped_to <= filled_to`)
  return moved > 0
}
