import { type Audit, DAY, many, run, sql, type Transaction } from '@mortise/module-sdk'
import { disabledFor, updateWebhook, type WebhookRow } from './repository.ts'

/**
 * The right to everyone's events is that of a token, which nobody has between requests. So it is proven for a time:
 * by making such a webhook, and again by changing or using it, with `event:read`. After that the webhook stops.
 */

/** How many are stopped in one transaction. */
const STOPPED_AT_ONCE = 100

/** Whether a webhook may send: null is what an earlier version has left, until `disableUnproven` comes by. */
export const isProven = (
  { everyone, provenUntil }: Pick<WebhookRow, 'everyone' | 'provenUntil'>,
  now: number,
): boolean => everyone === 0 || provenUntil === null || provenUntil > now

/** A webhook as it is now: one whose proof has ended has stopped, before `disableUnproven` notes just this. */
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

/** Notes that the proof of a webhook has ended, if it has; answers what is there then. */
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

/** Notes that the right of a webhook was proven. */
export function* setProven(id: string, until: number): Transaction<void> {
  yield* run(sql`UPDATE webhook SET proven_until = ${until} WHERE id = ${id}`)
}

/**
 * Disables those whose right has ended; answers whether there may be more of them. None is proven for longer than a
 * proof made now: not by an earlier version, a clock that was ahead, or a setting that was higher.
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
