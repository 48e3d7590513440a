import {
  type Database,
  type Event,
  type EventLog,
  many,
  maybeOne,
  run,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Clock } from './clock.ts'
import { countPending, insertDelivery } from './deliveries.ts'
import { isProven } from './proof.ts'
import { ALL_TYPES, type Match, notBehind, type WebhookRow } from './repository.ts'

/**
 * A webhook that has as many pending deliveries as allowed is behind: it gets no more of them, and has room made up from
 * the log of events. It has the deliveries of its events up to the position `filled_to`; `skipped_to` is the last event
 * that it did not get. Once `filled_to` has reached that, both are null, and the webhook follows again.
 */

/** How many deliveries are made in one transaction at most, and how many webhooks are looked up at once. */
const BATCH = 100

/** Whether a webhook gets its delivery of an event at once; otherwise notes that it did not. */
export function* mayAdd(
  { id, filledTo }: Match,
  position: number,
  mostPending: number,
  now: number,
): Transaction<boolean> {
  // This reaction to the event failed before, and later events went ahead.
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

export interface BacklogOptions {
  readonly database: Database
  readonly events: EventLog
  readonly clock: Clock
  /** How many pending deliveries a webhook may have. */
  readonly mostPending: number
}

/** Gives webhooks that are behind what they did not get. Any number of them may work on one database. */
export class Backlog {
  readonly #options: BacklogOptions

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** Looks at all webhooks that are behind, should nobody have filled up one when it had room. */
  async fillAll(): Promise<void> {
    for (let last: string | undefined = ''; last !== undefined; ) {
      const after: string = last
      const rows = await this.#options.database.snapshot(() =>
        many<{ id: string }>(sql`
          SELECT id FROM webhook WHERE filled_to IS NOT NULL AND id > ${after} ORDER BY id LIMIT ${BATCH}`),
      )
      for (const { id } of rows) await this.fillUp(id)
      last = rows.at(-1)?.id
    }
  }

  /** Makes deliveries for a webhook that is behind until it has no more room, or is not behind. */
  async fillUp(webhook: string): Promise<void> {
    for (let more = true; more; ) more = await this.#fill(webhook)
  }

  async #fill(id: string): Promise<boolean> {
    const { database, clock, mostPending } = this.#options
    const found = await database.snapshot(function* () {
      const webhook = yield* maybeOne<Behind>(sql`
        SELECT id, owner, everyone, types, proven_until AS "provenUntil", version, filled_to AS "filledTo"
        FROM webhook WHERE id = ${id} AND filled_to IS NOT NULL`)
      if (webhook === undefined || !isProven(webhook, yield* clock())) return undefined
      return { webhook, room: mostPending - (yield* countPending(id, mostPending)) }
    })
    if (found === undefined || found.room <= 0) return false
    const { webhook, room } = found
    const { events, upTo, missedUntil } = await this.#read(webhook, Math.min(room, BATCH))
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

  /** The next events of a webhook, up to which position there is no other, and the time before which some were deleted. */
  async #read(
    { owner, everyone, types, filledTo }: Behind,
    limit: number,
  ): Promise<{ events: Event[]; upTo: number; missedUntil: number | undefined }> {
    const log = this.#options.events
    // What is no newer than this was there before the look, so that it is found or not for this webhook.
    const seen = await log.last()
    const chosen: string[] = JSON.parse(types)
    const [oldest] = await log.read({ after: filledTo, limit: 1 })
    const events = await log.read({
      after: filledTo,
      limit,
      types: chosen.includes(ALL_TYPES) ? undefined : chosen,
      owner: everyone === 1 ? undefined : owner,
    })
    const last = events.at(-1)?.position ?? filledTo
    return {
      events,
      upTo: events.length < limit ? Math.max(last, seen) : last,
      missedUntil: oldest !== undefined && oldest.position > filledTo + 1 ? oldest.at : undefined,
    }
  }
}

/** False where the webhook has changed meanwhile, or another process has filled it up. */
function* moveFilledTo({ id, filledTo, version }: Behind, upTo: number): Transaction<boolean> {
  const moved = yield* run(sql`
    UPDATE webhook SET filled_to = ${upTo}
    WHERE id = ${id} AND filled_to = ${filledTo} AND version = ${version}`)
  yield* run(sql`UPDATE webhook SET ${notBehind} WHERE id = ${id} AND skipped_to <= filled_to`)
  return moved > 0
}
