import {
  type Event,
  join,
  many,
  maybeOne,
  one,
  run,
  sql,
  TOLERANCE,
  type Transaction,
} from '@mortise/module-sdk'
import type { Outcome } from './post.ts'
import { isProven } from './proof.ts'
import type { WebhookRow } from './repository.ts'
import { type Secret, validAt } from './signatures.ts'

/**
 * The statements of deliveries. The pending deliveries of one webhook and subject form a queue, in
 * the order of their events. Only the first has `due_at`; it is null for the others.
 */

export const states = ['pending', 'delivered', 'failed'] as const
export type State = (typeof states)[number]

/** The type of the test event, which is in no log. */
export const TEST_TYPE = 'webhook.test'

export interface DeliveryRow {
  /** The id of the event. */
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly state: State
  readonly attempts: number
  readonly dueAt: number | null
  readonly lease: string | null
  readonly attemptedAt: number | null
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
  readonly createdAt: number
  readonly endedAt: number | null
  /** 0 or 1: whether the event belongs to someone other than the webhook's owner. */
  readonly ofOthers: number
}

const columns = sql`id, type, subject, state, attempts, due_at AS "dueAt", lease,
  attempted_at AS "attemptedAt", status, error, response, created_at AS "createdAt", ended_at AS "endedAt",
  of_others AS "ofOthers"`

/** At the end of its subject's queue. `body` is that of an event that is not in the log. */
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

/** The number of pending deliveries of a webhook, counted up to `most`. */
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

/** The deliveries before `before`, newest first. `own` restricts them to the owner's own events. */
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

/** A delivery that this process must send. */
export interface LeasedDelivery {
  readonly id: string
  readonly lease: string
  readonly webhook: string
  /** The owner of the webhook. */
  readonly owner: string
  readonly type: string
  readonly subject: string
  readonly position: number
  /** Null: made from the event. */
  readonly body: string | null
  readonly attempts: number
  readonly url: string
  /** 0 or 1: whether the webhook gets everyone's events, by the right that `proof` proves. */
  readonly everyone: number
  readonly proof: string | null
  /** The secrets that sign now. */
  readonly secrets: readonly Secret[]
}

interface DueRow
  extends Omit<LeasedDelivery, 'secrets' | 'lease'>,
    Pick<WebhookRow, 'enabled' | 'provenUntil' | 'failingSince'> {
  readonly secrets: string
  readonly ofOthers: number
}

export interface LeaseQuery {
  readonly lease: string
  readonly limit: number
  /** The most concurrent attempts of one webhook. A failing webhook has one. */
  readonly perWebhook: number
  readonly underWay: ReadonlyMap<string, number>
  /** The most concurrent attempts of one owner, and the current ones. */
  readonly perOwner: number
  readonly underWayOf: ReadonlyMap<string, number>
  readonly now: number
  /** The end of the lease. */
  readonly until: number
}

/** Deliveries to cancel at once: of a disabled webhook, and of others' events. */
const GIVEN_UP_AT_ONCE = 500
const WITHDRAWN_AT_ONCE = 100

/** Leases due deliveries, in the order in which they became due. */
export function* leaseDue(query: LeaseQuery): Transaction<LeasedDelivery[]> {
  const { lease, limit, perWebhook, perOwner, now, until } = query
  const underWay = new Map(query.underWay)
  const underWayOf = new Map(query.underWayOf)
  const leased: LeasedDelivery[] = []
  let withdrawn = 0
  for (let more = true; more && leased.length < limit; ) {
    const full = keysFrom(underWay, perWebhook)
    const fullOwners = keysFrom(underWayOf, perOwner)
    const rows = yield* many<DueRow>(sql`
      SELECT delivery.id, delivery.webhook, delivery.type, delivery.subject, delivery.position, delivery.body,
        delivery.attempts, delivery.of_others AS "ofOthers", webhook.owner, webhook.url, webhook.secrets,
        webhook.enabled, webhook.everyone, webhook.proof, webhook.proven_until AS "provenUntil",
        webhook.failing_since AS "failingSince"
      FROM webhook_delivery AS delivery JOIN webhook ON webhook.id = delivery.webhook
      WHERE delivery.due_at <= ${now} ${full.length === 0 ? sql`` : sql`AND delivery.webhook NOT IN (${join(full)})`}
        ${fullOwners.length === 0 ? sql`` : sql`AND webhook.owner NOT IN (${join(fullOwners)})`}
      ORDER BY delivery.due_at LIMIT ${limit - leased.length}`)
    more = false
    for (const { secrets, enabled, provenUntil, failingSince, ofOthers, ...row } of rows) {
      const { everyone } = row
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
        if (withdrawn === WITHDRAWN_AT_ONCE) return leased
        more = true
      } else if (own >= perOwner) {
        more = true
      } else {
        yield* run(
          sql`UPDATE webhook_delivery SET lease = ${lease}, due_at = ${until} WHERE webhook = ${row.webhook} AND id = ${row.id}`,
        )
        underWay.set(row.webhook, count + 1)
        underWayOf.set(row.owner, own + 1)
        leased.push({ ...row, lease, secrets: validAt(JSON.parse(secrets), now) })
      }
    }
  }
  return leased
}

const keysFrom = (counts: ReadonlyMap<string, number>, least: number) =>
  [...counts].filter(([, count]) => count >= least).map(([key]) => sql`${key}`)

/** Cancels the delivery of another owner's event, for a webhook that no longer gets these. */
function* withdraw(
  { webhook, id, subject }: Pick<LeasedDelivery, 'webhook' | 'id' | 'subject'>,
  now: number,
): Transaction<void> {
  yield* run(sql`
    UPDATE webhook_delivery
    SET state = 'failed', due_at = NULL, lease = NULL, ended_at = ${now},
      error = 'the webhook no longer gets the events of others'
    WHERE webhook = ${webhook} AND id = ${id}`)
  yield* letNext(webhook, subject, now)
}

/** The waiting ones go first, so that each queue keeps its first delivery. */
function* giveUp(webhook: string, now: number): Transaction<void> {
  for (const turn of [sql`due_at IS NULL`, sql`(lease IS NULL OR due_at <= ${now})`]) {
    const given = yield* run(sql`
      UPDATE webhook_delivery
      SET state = 'failed', due_at = NULL, lease = NULL, ended_at = ${now}, error = 'the webhook was disabled'
      WHERE webhook = ${webhook} AND id IN (
        SELECT id FROM webhook_delivery WHERE webhook = ${webhook} AND state = 'pending' AND ${turn}
        LIMIT ${GIVEN_UP_AT_ONCE})`)
    if (given === GIVEN_UP_AT_ONCE) return
  }
}

/** Whether `leaseDue` may find something. A read, because mostly nothing is due. */
export function* isDue(now: number): Transaction<boolean> {
  return (
    (yield* maybeOne(sql`SELECT 1 AS due FROM webhook_delivery WHERE due_at <= ${now} LIMIT 1`)) !== undefined
  )
}

/**
 * Makes due what a fast clock put off: deliveries last tried in the future or never, and leases
 * longer than `term` milliseconds. These leases become due at `leasesDue`.
 */
export function* makeDue(now: number, term: number, leasesDue: number): Transaction<void> {
  const ahead = now + TOLERANCE
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${now}
    WHERE due_at > ${ahead} AND lease IS NULL AND (attempts = 0 OR attempted_at > ${ahead})`)
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${leasesDue} WHERE due_at > ${ahead + term} AND lease IS NOT NULL`)
}

/** False if the lease is lost: another process sends the delivery. */
export function* endAttempt(
  { id, lease, webhook, subject, attempts }: LeasedDelivery,
  { status, error, response }: Outcome,
  state: State,
  dueAt: number | null,
  now: number,
): Transaction<boolean> {
  const kept = yield* run(sql`
    UPDATE webhook_delivery
    SET state = ${state}, attempts = ${attempts + 1}, due_at = ${dueAt}, lease = NULL, attempted_at = ${now},
      status = ${status}, error = ${error}, response = ${response}, ended_at = ${dueAt === null ? now : null}
    WHERE webhook = ${webhook} AND id = ${id} AND lease = ${lease}`)
  if (kept > 0 && dueAt === null) yield* letNext(webhook, subject, now)
  return kept > 0
}

/** Makes the next delivery of the queue due. */
function* letNext(webhook: string, subject: string, now: number): Transaction<void> {
  yield* run(sql`
    UPDATE webhook_delivery SET due_at = ${now} WHERE webhook = ${webhook} AND id = (
      SELECT id FROM webhook_delivery WHERE webhook = ${webhook} AND subject = ${subject} AND state = 'pending'
      ORDER BY position LIMIT 1)`)
}

/** Makes the first of a queue due at once. Earlier attempts stay on record. */
export function* replayDelivery(
  webhook: string,
  { id, state, subject }: DeliveryRow,
  now: number,
): Transaction<void> {
  if (state === 'pending') {
    yield* run(sql`
      UPDATE webhook_delivery SET attempts = 0, due_at = ${now}
      WHERE webhook = ${webhook} AND id = ${id} AND due_at IS NOT NULL AND lease IS NULL`)
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

/** Also those of deleted webhooks. Returns their number. */
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
