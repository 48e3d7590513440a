import { type Audit, DAY, many, run, sql, type Transaction } from '@mortise/module-sdk'
import { disabledFor, updateWebhook, type WebhookRow } from './repository.ts'

/**
 * The right to everyone's events comes from a token, and a webhook has no token between requests.
 * So a proof holds for a limited time. Creating, changing or using such a webhook with `event:read`
 * renews it. Without renewal the webhook stops.
 */

/** The most webhooks to stop in one transaction. */
const STOPPED_AT_ONCE = 100

/** Null is from an earlier version, and valid until `disableUnproven` replaces it. */
export const isProven = (
  { everyone, provenUntil }: Pick<WebhookRow, 'everyone' | 'provenUntil'>,
  now: number,
): boolean => everyone === 0 || provenUntil === null || provenUntil > now

/** Without a valid proof it has stopped, even before `disableUnproven` records that. */
export function disabledIfUnproven(webhook: WebhookRow, now: number): WebhookRow {
  const { enabled, provenUntil, version, updatedAt } = webhook
  if (enabled === 0 || isProven(webhook, now)) return webhook
  return {
    ...webhook,
    enabled: 0,
    disabledReason: UNPROVEN,
    behindSince: null,
    version: version + 1,
    updatedAt: provenUntil ?? updatedAt,
  }
}

/** Records the end of a webhook's proof, if it has ended. Returns the current webhook. */
export function* stop(webhook: WebhookRow, audit: Audit, now: number): Transaction<WebhookRow> {
  const stopped = disabledIfUnproven(webhook, now)
  if (stopped !== webhook) {
    yield* updateWebhook(stopped)
    yield* auditStop(audit, webhook.id)
  }
  return stopped
}

const UNPROVEN = 'unproven'

const auditStop = (audit: Audit, id: string) =>
  audit({ action: 'webhook.disabled', object: id, details: { reason: UNPROVEN } })

export const provenUntil = (now: number, days: number): number => now + days * DAY

/** Records the proof of a webhook's right. */
export function* setProven(id: string, until: number): Transaction<void> {
  yield* run(sql`UPDATE webhook SET proven_until = ${until} WHERE id = ${id}`)
}

/**
 * Disables webhooks whose proof has ended. Returns whether there may be more. No proof holds longer
 * than one made now, even if an earlier version, a fast clock or a higher setting wrote a later
 * end.
 */
export function* disableUnproven(audit: Audit, now: number, days: number): Transaction<boolean> {
  const longest = provenUntil(now, days)
  yield* run(sql`
    UPDATE webhook SET proven_until = ${longest}
    WHERE everyone = 1 AND enabled = 1 AND (proven_until IS NULL OR proven_until > ${longest})`)
  const stopped = yield* many<{ id: string }>(sql`
    UPDATE webhook SET ${disabledFor(UNPROVEN, sql`proven_until`)} WHERE id IN (
      SELECT id FROM webhook WHERE everyone = 1 AND enabled = 1 AND proven_until <= ${now} LIMIT ${STOPPED_AT_ONCE})
    RETURNING id`)
  for (const { id } of stopped) {
    yield* auditStop(audit, id)
  }
  return stopped.length === STOPPED_AT_ONCE
}
