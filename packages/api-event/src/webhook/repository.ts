import {
  type Event,
  many,
  maybeOne,
  one,
  PagedList,
  run,
  type Sql,
  sql,
  type Transaction,
} from '@mortise/module-sdk'
import type { Secret } from './signatures.ts'

/**
 * The statements of webhooks. A deleted webhook keeps its row until its deliveries are gone, so
 * every search has `deleted_at IS NULL`.
 */

export interface WebhookRow {
  readonly id: string
  readonly owner: string
  /** 0 or 1, like `enabled`. */
  readonly everyone: number
  readonly url: string
  /** A JSON array. */
  readonly types: string
  readonly description: string
  readonly enabled: number
  readonly disabledReason: string | null
  readonly failingSince: number | null
  /** The end of the proof for everyone's events; null for its owner's alone. */
  readonly provenUntil: number | null
  /** What verified the token of that proof: see `ModuleContext.trusts`. */
  readonly proof: string | null
  readonly behindSince: number | null
  readonly missedUntil: number | null
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Stands for all owners. No caller id has this form. */
export const EVERYONE = '*'

/** Matches every event type. */
export const ALL_TYPES = '*'

const columns = sql`id, owner, everyone, url, types, description, enabled, disabled_reason AS "disabledReason",
  failing_since AS "failingSince", proven_until AS "provenUntil", proof, behind_since AS "behindSince",
  missed_until AS "missedUntil", version, created_at AS "createdAt", updated_at AS "updatedAt"`

export const webhooks = new PagedList<WebhookRow>('webhook', { columns, where: sql`deleted_at IS NULL` })

/** `owner` may be EVERYONE, here and below. */
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

export function* insertWebhook(row: WebhookRow, secrets: readonly Secret[]): Transaction<void> {
  yield* run(sql`
    INSERT INTO webhook (id, owner, everyone, url, types, description, secrets, enabled, proven_until, proof, version,
      created_at, updated_at)
    VALUES (${row.id}, ${row.owner}, ${row.everyone}, ${row.url}, ${row.types}, ${row.description},
      ${JSON.stringify(secrets)}, ${row.enabled}, ${row.provenUntil}, ${row.proof}, ${row.version}, ${row.createdAt},
      ${row.updatedAt})`)
}

/** Writes all columns of a webhook that can change. */
export function* updateWebhook(row: WebhookRow): Transaction<void> {
  yield* run(sql`
    UPDATE webhook SET everyone = ${row.everyone}, url = ${row.url}, types = ${row.types},
      description = ${row.description}, enabled = ${row.enabled}, disabled_reason = ${row.disabledReason},
      failing_since = ${row.failingSince}, proven_until = ${row.provenUntil}, proof = ${row.proof}, missed_until = ${row.missedUntil},
      version = ${row.version}, updated_at = ${row.updatedAt} ${row.enabled === 1 ? sql`` : sql`, ${notBehind}`}
    WHERE id = ${row.id}`)
}

/** Marks a webhook as deleted and ends its deliveries. No response shows it again. */
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

export interface Match extends Pick<WebhookRow, 'id' | 'owner' | 'everyone' | 'provenUntil'> {
  /** See backlog.ts. Null if the webhook is not behind. */
  readonly filledTo: number | null
}

/** The enabled webhooks that match an event. */
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

/** Records a failed attempt. It replaces a time in the future, which a fast clock wrote. */
export function* setFailing(webhook: string, now: number): Transaction<void> {
  yield* run(sql`
    UPDATE webhook SET failing_since = ${now}
    WHERE id = ${webhook} AND (failing_since IS NULL OR failing_since > ${now})`)
}

/** Records a successful attempt. */
export function* clearFailing(webhook: string): Transaction<void> {
  yield* run(sql`UPDATE webhook SET failing_since = NULL WHERE id = ${webhook} AND failing_since IS NOT NULL`)
}

/** A disabled webhook does not catch up on the events that it missed. */
export const notBehind = sql`filled_to = NULL, skipped_to = NULL, behind_since = NULL`
/** The columns to set when the module disables a webhook. */
export const disabledFor = (reason: string, at: number | Sql) => sql`
  enabled = 0, disabled_reason = ${reason}, version = version + 1, updated_at = ${at}, ${notBehind}`

/** If it has been failing since `since` or earlier. Returns whether it did. */
export function* disable(webhook: string, reason: string, since: number, now: number): Transaction<boolean> {
  const disabled = yield* run(sql`
    UPDATE webhook SET ${disabledFor(reason, now)}
    WHERE id = ${webhook} AND enabled = 1 AND failing_since <= ${since}`)
  return disabled > 0
}

/** Removes deleted webhooks without deliveries. */
export function* purgeDeleted(limit: number): Transaction<number> {
  return yield* run(sql`
    DELETE FROM webhook WHERE id IN (
      SELECT id FROM webhook WHERE deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE webhook_delivery.webhook = webhook.id) LIMIT ${limit})`)
}
