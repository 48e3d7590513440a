import { type Event, join, many, maybeOne, one, run, sql, type Transaction } from '@mortise/module-sdk'
import type { Outcome } from './post.ts'
import { isProven } from './proof.ts'
import type { WebhookRow } from './repository.ts'
import { type Secret, validAt } from './signatures.ts'

/**
 * The statements of deliveries. Those of one subject and webhook that are pending stand in line, in the order of their
 * events: the one whose turn it is has `due_at`, the others have none.
 */

export const states = ['pending', 'delivered', 'failed'] as const
export type State = (typeof states)[number]

export interface DeliveryRow {
  /** That of the event. */
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly state: State
  readonly attempts: number
  readonly dueAt: number | null
  readonly claim: string | null
  readonly attemptedAt: number | null
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
  readonly createdAt: number
  readonly endedAt: number | null
  /** 0 or 1: whether the event is not the own one of the webhook's owner. */
  readonly ofOthers: number
}

const columns = sql`id, type, subject, state, attempts, due_at AS "dueAt", claim,
  attempted_at AS "attemptedAt", status, error, response, created_at AS "createdAt", ended_at AS "endedAt",
  of_others AS "ofOthers"`

/**
 * Puts a delivery at the end of the line of its subject, unless the webhook has it.
 *
 * @param body of an event that is in no log
 */
export function* insertDelivery(
  { id, type, subject, position, owner }: Pick<Event, 'id' | 'type' | 'subject' | 'position' | 'owner'>,
  webhook: Pick<WebhookRow, 'id' | 'owner'>,
  now: number,
  body: string | null = null,
): Transaction<void> {
  yield* run(sql`
    INSERT INTO webhook_delivery (id, webhook, type, subject, position, body, of_others, state, attempts, due_at, created_at)
    VALUES (${id}, ${webhook.id}, ${type}, ${subject}, ${position}, ${body}, ${Number(owner !== webhook.owner)},
      'pending', 0,
      CASE WHEN EXISTS (
        SELECT 1 FROM webhook_delivery WHERE webhook = ${webhook.id} AND subject = ${subject} AND state = 'pending'
      ) THEN NULL ELSE ${now} END, ${now})
    ON CONFLICT (webhook, id) DO NOTHING`)
}

/** How many are pending for a webhook, counted no further than `most`. */
export function* countPending(webhook: string, most: number): Transaction<number> {
  const { count } = yield* one<{ count: number }>(sql`
    SELECT count(*) AS count FROM (
      SELECT 1 FROM webhook_delivery WHERE webhook = ${webhook} AND state = 'pending' LIMIT ${most}) AS pending`)
  return count
}

export function findDelivery(webhook: string, id: string): Transaction<DeliveryRow | undefined> {
  return maybeOne<DeliveryRow>(
    sql`SELECT ${columns} FROM webhook_delivery WHERE webhook = ${webhook} AND id = ${id}`,
  )
}

/** Newest first, those before `before`; `own` are those of the owner's own events. */
export function listDeliveries(
  webhook: string,
  query: {
    readonly before?: string | undefined
    readonly state?: State | undefined
    readonly limit: number
    readonly own: boolean
  },
): Transaction<DeliveryRow[]> {
  const { before, state, limit, own } = query
  return many<DeliveryRow>(sql`
    SELECT ${columns} FROM webhook_delivery
    WHERE webhook = ${webhook} ${before === undefined ? sql`` : sql`AND id < ${before}`}
      ${state === undefined ? sql`` : sql`AND state = ${state}`} ${own ? sql`AND of_others = 0` : sql``}
    ORDER BY id DESC LIMIT ${limit}`)
}

/** A delivery that this process is to send. */
export interface Claimed {
  readonly id: string
  readonly claim: string
  readonly webhook: string
  /** Of the webhook. */
  readonly owner: string
  readonly type: string
  readonly subject: string
  readonly position: number
  /** Null: it is made from the event. */
  readonly body: string | null
  readonly attempts: number
  readonly url: string
  /** Those that sign at this time. */
  readonly secrets: readonly Secret[]
}

interface DueRow
  extends Omit<Claimed, 'secrets' | 'claim'>,
    Pick<WebhookRow, 'enabled' | 'everyone' | 'provenUntil' | 'failingSince'> {
  readonly secrets: string
  readonly ofOthers: number
}

export interface LeaseQuery {
  readonly claim: string
  readonly limit: number
  /** How many of one webhook may be under way; of one that is failing, it is one. */
  readonly perWebhook: number
  readonly underWay: ReadonlyMap<string, number>
  /** How many of one owner may be, and are. */
  readonly perOwner: number
  readonly underWayOf: ReadonlyMap<string, number>
  readonly now: number
  /** When others may take what is claimed. */
  readonly until: number
}

/** How many pending deliveries of a disabled webhook are given up at once, and how many of others' events are withdrawn. */
const GIVEN_UP_AT_ONCE = 500
const WITHDRAWN_AT_ONCE = 100

/** Takes deliveries that are due, in the order in which they became so. */
export function* leaseDue(query: LeaseQuery): Transaction<Claimed[]> {
  const { claim, limit, perWebhook, perOwner, now, until } = query
  const underWay = new Map(query.underWay)
  const underWayOf = new Map(query.underWayOf)
  const claimed: Claimed[] = []
  let withdrawn = 0
  for (let more = true; more && claimed.length < limit; ) {
    const full = keysFrom(underWay, perWebhook)
    const fullOwners = keysFrom(underWayOf, perOwner)
    const rows = yield* many<DueRow>(sql`
      SELECT delivery.id, delivery.webhook, delivery.type, delivery.subject, delivery.position, delivery.body,
        delivery.attempts, delivery.of_others AS "ofOthers", webhook.owner, webhook.url, webhook.secrets,
        webhook.enabled, webhook.everyone, webhook.proven_until AS "provenUntil", webhook.failing_since AS "failingSince"
      FROM webhook_delivery AS delivery JOIN webhook ON webhook.id = delivery.webhook
      WHERE delivery.due_at <= ${now} ${full.length === 0 ? sql`` : sql`AND delivery.webhook NOT IN (${join(full)})`}
        ${fullOwners.length === 0 ? sql`` : sql`AND webhook.owner NOT IN (${join(fullOwners)})`}
      ORDER BY delivery.due_at LIMIT ${limit - claimed.length}`)
    more = false
    for (const { secrets, enabled, everyone, provenUntil, failingSince, ofOthers, ...row } of rows) {
      const count = underWay.get(row.webhook) ?? 0
      const own = underWayOf.get(row.owner) ?? 0
      if (count >= (failingSince === null ? perWebhook : 1)) {
        underWay.set(row.webhook, perWebhook)
        more = true
      } else if (enabled === 0 || !isProven({ everyone, provenUntil }, now)) {
        yield* giveUp(row.webhook, now)
        underWay.set(row.webhook, perWebhook)
        more = true
      } else if (ofOthers > everyone) {
        yield* withdraw(row, now)
        withdrawn += 1
        if (withdrawn === WITHDRAWN_AT_ONCE) return claimed
        more = true
      } else if (own >= perOwner) {
        more = true
      } else {
        yield* run(
          sql`UPDATE webhook_delivery SET claim = ${claim}, due_at = ${until} WHERE webhook = ${row.webhook} AND id = ${row.id}`,
        )
        underWay.set(row.webhook, count + 1)
        underWayOf.set(row.owner, own + 1)
        claimed.push({ ...row, claim, secrets: validAt(JSON.parse(secrets), now) })
      }
    }
  }
  return claimed
}

const keysFrom = (counts: ReadonlyMap<string, number>, least: number) =>
  [...counts].filter(([, count]) => count >= least).map(([key]) => sql`${key}`)

/** Gives up a delivery of others' event for a webhook that no longer gets these. */
function* withdraw(
  { webhook, id, subject }: Pick<Claimed, 'webhook' | 'id' | 'subject'>,
  now: number,
): Transaction<void> {
  yield* run(sql`
    UPDATE webhook_delivery
    SET state = 'failed', due_at = NULL, claim = NULL, ended_at = ${now},
      error = 'the webhook no longer gets the events of others'
    WHERE webhook = ${webhook} AND id = ${id}`)
  yield* letNext(webhook, subject, now)
}

/** Gives up what is pending for a webhook that is disabled: those in line first, so that none is left without a turn. */
function* giveUp(webhook: string, now: number): Transaction<void> {
  for (const turn of [sql`due_at IS NULL`, sql`(claim IS NULL OR due_at <= ${now})`]) {
    const given = yield* run(sql`
      UPDATE webhook_delivery
      SET state = 'failed', due_at = NULL, claim = NULL, ended_at = ${now}, error = 'the webhook was disabled'
      WHERE webhook = ${webhook} AND id IN (
        SELECT id FROM webhook_delivery WHERE webhook = ${webhook} AND state = 'pending' AND ${turn}
        LIMIT ${GIVEN_UP_AT_ONCE})`)
    if (given === GIVEN_UP_AT_ONCE) return
  }
}

/** Whether `leaseDue` may find something: a read, since mostly there is nothing. */
export function* isDue(now: number): Transaction<boolean> {
  return (
    (yield* maybeOne(sql`SELECT 1 AS due FROM webhook_delivery WHERE due_at <= ${now} LIMIT 1`)) !== undefined
  )
}

/** How far two transactions at the same time may disagree about the time, in milliseconds. */
const TOLERANCE = 1_000

/**
 * Makes due what a clock that was ahead has put off: what was tried later than now, or never, and claims that last
 * longer than `term` milliseconds. These are due at `claimsDue`.
 */
export function* makeDue(now: number, term: number, claimsDue: number): Transaction<void> {
  const ahead = now + TOLERANCE
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${now}
    WHERE due_at > ${ahead} AND claim IS NULL AND (attempts = 0 OR attempted_at > ${ahead})`)
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${claimsDue} WHERE due_at > ${ahead + term} AND claim IS NOT NULL`)
}

/** Writes down an attempt; `dueAt` is when there will be another. False where the claim is lost: somebody else sends it. */
export function* endAttempt(
  { id, claim, webhook, subject, attempts }: Claimed,
  { status, error, response }: Outcome,
  state: State,
  dueAt: number | null,
  now: number,
): Transaction<boolean> {
  const kept = yield* run(sql`
    UPDATE webhook_delivery
    SET state = ${state}, attempts = ${attempts + 1}, due_at = ${dueAt}, claim = NULL, attempted_at = ${now},
      status = ${status}, error = ${error}, response = ${response}, ended_at = ${dueAt === null ? now : null}
    WHERE webhook = ${webhook} AND id = ${id} AND claim = ${claim}`)
  if (kept > 0 && dueAt === null) yield* letNext(webhook, subject, now)
  return kept > 0
}

/** Has the next one in line take its turn. */
function* letNext(webhook: string, subject: string, now: number): Transaction<void> {
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${now} WHERE webhook = ${webhook} AND id = (
      SELECT id FROM webhook_delivery WHERE webhook = ${webhook} AND subject = ${subject} AND state = 'pending'
      ORDER BY position LIMIT 1)`)
}

/** Puts one that is delivered or given up in line again; one whose turn it is, is due at once, with all its attempts before it. */
export function* replayDelivery(
  webhook: string,
  { id, state, subject }: DeliveryRow,
  now: number,
): Transaction<void> {
  if (state === 'pending') {
    yield* run(sql`
      UPDATE webhook_delivery SET attempts = 0, due_at = ${now}
      WHERE webhook = ${webhook} AND id = ${id} AND due_at IS NOT NULL AND claim IS NULL`)
    return
  }
  yield* run(sql`
    UPDATE webhook_delivery
    SET state = 'pending', attempts = 0, ended_at = NULL,
      due_at = CASE WHEN EXISTS (
        SELECT 1 FROM webhook_delivery AS other
        WHERE other.webhook = ${webhook} AND other.subject = ${subject} AND other.state = 'pending'
      ) THEN NULL ELSE ${now} END
    WHERE webhook = ${webhook} AND id = ${id}`)
}

/** Forgets the oldest that ended before `before`, and those of deleted webhooks; answers how many. */
export function* deleteOldDeliveries(before: number, limit: number): Transaction<number> {
  const old = yield* run(sql`
    DELETE FROM webhook_delivery WHERE (webhook, id) IN (
      SELECT webhook, id FROM webhook_delivery WHERE ended_at < ${before} ORDER BY ended_at LIMIT ${limit})`)
  const orphaned = yield* run(sql`
    DELETE FROM webhook_delivery WHERE (webhook, id) IN (
      SELECT delivery.webhook, delivery.id FROM webhook_delivery AS delivery JOIN webhook ON webhook.id = delivery.webhook
      WHERE webhook.deleted_at IS NOT NULL LIMIT ${limit})`)
  return Math.max(old, orphaned)
}
