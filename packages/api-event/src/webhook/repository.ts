import { type Event, many, maybeOne, one, run, type Sql, sql, type Transaction } from '@mortise/module-sdk'
import type { Secret } from './signatures.ts'

/**
 * The statements of webhooks. A deleted one keeps its row until its deliveries are gone: `deleted_at IS NULL`
 * wherever one is sought.
 */

export interface WebhookRow {
  readonly id: string
  readonly owner: string
  /** 0 or 1, as `enabled`. */
  readonly everyone: number
  readonly url: string
  /** JSON: a list. */
  readonly types: string
  readonly description: string
  readonly enabled: number
  readonly disabledReason: string | null
  readonly failingSince: number | null
  /** Until when the right to everyone's events is proven: then it stops. Null where no version has noted it yet. */
  readonly provenUntil: number | null
  readonly behindSince: number | null
  readonly missedUntil: number | null
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** In place of an owner: everyone's webhooks. No caller's id is like it. */
export const EVERYONE = '*'

/** What the type of an event is matched with: all of them. */
export const ALL_TYPES = '*'

const columns = sql`id, owner, everyone, url, types, description, enabled, disabled_reason AS "disabledReason",
  failing_since AS "failingSince", proven_until AS "provenUntil", behind_since AS "behindSince",
  missed_until AS "missedUntil", version, created_at AS "createdAt", updated_at AS "updatedAt"`

/** `owner` may be EVERYONE, as in all that follow. */
const ownedBy = (owner: string) =>
  owner === EVERYONE ? sql`deleted_at IS NULL` : sql`deleted_at IS NULL AND owner = ${owner}`

export function findWebhook(id: string, owner: string): Transaction<WebhookRow | undefined> {
  return maybeOne<WebhookRow>(sql`SELECT ${columns} FROM webhook WHERE id = ${id} AND ${ownedBy(owner)}`)
}

export function* countWebhooks(owner: string): Transaction<number> {
  const { total } = yield* one<{ total: number }>(
    sql`SELECT count(*) AS total FROM webhook WHERE ${ownedBy(owner)}`,
  )
  return total
}

/** Newest first. */
export function listWebhooks(owner: string, page: number, rpp: number): Transaction<WebhookRow[]> {
  return many<WebhookRow>(sql`
    SELECT ${columns} FROM webhook WHERE ${ownedBy(owner)} ORDER BY id DESC LIMIT ${rpp} OFFSET ${(page - 1) * rpp}`)
}

/** What follows an id in that order, of a webhook that is there or not: at most `limit`. */
export function listWebhooksAfter(owner: string, id: string, limit: number): Transaction<WebhookRow[]> {
  return many<WebhookRow>(sql`
    SELECT ${columns} FROM webhook WHERE ${ownedBy(owner)} AND id < ${id} ORDER BY id DESC LIMIT ${limit}`)
}

export function* insertWebhook(row: WebhookRow, secrets: readonly Secret[]): Transaction<void> {
  yield* run(sql`
    INSERT INTO webhook (id, owner, everyone, url, types, description, secrets, enabled, proven_until, version,
      created_at, updated_at)
    VALUES (${row.id}, ${row.owner}, ${row.everyone}, ${row.url}, ${row.types}, ${row.description},
      ${JSON.stringify(secrets)}, ${row.enabled}, ${row.provenUntil}, ${row.version}, ${row.createdAt},
      ${row.updatedAt})`)
}

/** Writes everything of a webhook that may change. */
export function* updateWebhook(row: WebhookRow): Transaction<void> {
  yield* run(sql`
    UPDATE webhook SET everyone = ${row.everyone}, url = ${row.url}, types = ${row.types},
      description = ${row.description}, enabled = ${row.enabled}, disabled_reason = ${row.disabledReason},
      failing_since = ${row.failingSince}, proven_until = ${row.provenUntil}, missed_until = ${row.missedUntil},
      version = ${row.version}, updated_at = ${row.updatedAt} ${row.enabled === 1 ? sql`` : sql`, ${notBehind}`}
    WHERE id = ${row.id}`)
}

/** Takes a webhook out of every answer, and ends its deliveries. */
export function* deleteWebhook(id: string, now: number): Transaction<void> {
  yield* run(
    sql`UPDATE webhook SET enabled = 0, secrets = '[]', deleted_at = ${now}, ${notBehind} WHERE id = ${id}`,
  )
}

export function* secretsOf(id: string): Transaction<Secret[]> {
  const { secrets } = yield* one<{ secrets: string }>(sql`SELECT secrets FROM webhook WHERE id = ${id}`)
  return JSON.parse(secrets)
}

export function* updateSecrets(id: string, secrets: readonly Secret[]): Transaction<void> {
  yield* run(sql`UPDATE webhook SET secrets = ${JSON.stringify(secrets)} WHERE id = ${id}`)
}

/** A webhook that gets an event. */
export interface Match extends Pick<WebhookRow, 'id' | 'owner' | 'everyone' | 'provenUntil'> {
  /** See backlog.ts; null for one that is not behind. */
  readonly filledTo: number | null
}

/** The enabled webhooks that get an event. */
export function* findMatching({ owner, type }: Event): Transaction<Match[]> {
  const match = sql`id, owner, everyone, types, proven_until AS "provenUntil", filled_to AS "filledTo"`
  const rows = yield* many<Match & { types: string }>(sql`
    SELECT ${match} FROM webhook WHERE owner = ${owner} AND everyone = 0 AND enabled = 1 AND deleted_at IS NULL
    UNION ALL SELECT ${match} FROM webhook WHERE everyone = 1 AND enabled = 1`)
  return rows.filter(({ types }) => {
    const chosen: string[] = JSON.parse(types)
    return chosen.includes(type) || chosen.includes(ALL_TYPES)
  })
}

/** Notes a failed attempt. One that is later than now was noted by a clock that was ahead. */
export function* setFailing(webhook: string, now: number): Transaction<void> {
  yield* run(sql`
    UPDATE webhook SET failing_since = ${now}
    WHERE id = ${webhook} AND (failing_since IS NULL OR failing_since > ${now})`)
}

/** Notes one that succeeded. */
export function* clearFailing(webhook: string): Transaction<void> {
  yield* run(sql`UPDATE webhook SET failing_since = NULL WHERE id = ${webhook} AND failing_since IS NOT NULL`)
}

/** A webhook that is disabled has missed what it did not get. */
export const notBehind = sql`filled_to = NULL, skipped_to = NULL, behind_since = NULL`
/** What is set where the module disables one. */
export const disabledFor = (reason: string, at: number | Sql) => sql`
  enabled = 0, disabled_reason = ${reason}, version = version + 1, updated_at = ${at}, ${notBehind}`

/** Disables an enabled webhook, one that has been failing since `since` or before; answers whether it was one. */
export function* disable(webhook: string, reason: string, since: number, now: number): Transaction<boolean> {
  const disabled = yield* run(sql`
    UPDATE webhook SET ${disabledFor(reason, now)}
    WHERE id = ${webhook} AND enabled = 1 AND failing_since <= ${since}`)
  return disabled > 0
}

/** Removes a deleted webhook that has no delivery any more. */
export function* purgeDeleted(limit: number): Transaction<number> {
  return yield* run(sql`
    DELETE FROM webhook WHERE id IN (
      SELECT id FROM webhook WHERE deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE webhook_delivery.webhook = webhook.id) LIMIT ${limit})`)
}
