import { type Audit, type Caller, DAY, many, run, sql, type Transaction } from '@mortise/module-sdk'
import { disabledFor, updateWebhook, type WebhookRow } from './repository.ts'

/**
 * The right to everyone's events comes from a token, and a webhook has no token between requests.
 * So a proof holds for a limited time, and while the host trusts what verified the token. Creating,
 * changing or using such a webhook with `event:read` renews it. Without renewal the webhook stops.
 */

/** The most webhooks to stop in one transaction. */
const STOPPED_AT_ONCE = 100

export const isProven = (
  { everyone, provenUntil }: Pick<WebhookRow, 'everyone' | 'provenUntil'>,
  now: number,
): boolean => everyone === 0 || (provenUntil ?? 0) > now

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

/** What a webhook has of the proof of its right. */
export type Proof = Pick<WebhookRow, 'proof' | 'provenUntil'>

/** The proof by a caller with the right. */
export const proofBy = (caller: Caller, now: number, days: number): Proof => ({
  proof: caller.proof ?? null,
  provenUntil: now + days * DAY,
})

/** Records the proof of a webhook's right. */
export function* setProof(id: string, { proof, provenUntil }: Proof): Transaction<void> {
  yield* run(sql`UPDATE webhook SET proof = ${proof}, proven_until = ${provenUntil} WHERE id = ${id}`)
}

/** The proofs of enabled webhooks for everyone's events. */
export function* proofsInUse(): Transaction<(string | null)[]> {
  const rows = yield* many<{ proof: string | null }>(
    sql`SELECT DISTINCT proof FROM webhook WHERE everyone = 1 AND enabled = 1`,
  )
  return rows.map(({ proof }) => proof)
}

/** Ends the proofs by what this host does not trust any more, and so stops their webhooks. */
export function* endProofs(audit: Audit, proof: string | null, now: number): Transaction<void> {
  const by = proof === null ? sql`proof IS NULL` : sql`proof = ${proof}`
  yield* run(sql`UPDATE webhook SET proven_until = ${now} WHERE everyone = 1 AND enabled = 1 AND ${by}`)
  yield* stopUnproven(audit, now)
}

/**
 * Disables webhooks whose proof has ended. Returns whether there may be more. No proof holds longer
 * than one made now, even if a fast clock or a higher setting wrote a later end.
 */
export function* disableUnproven(audit: Audit, now: number, days: number): Transaction<boolean> {
  const longest = now + days * DAY
  yield* run(sql`
    UPDATE webhook SET proven_until = ${longest}
    WHERE everyone = 1 AND enabled = 1 AND proven_until > ${longest}`)
  return yield* stopUnproven(audit, now)
}

function* stopUnproven(audit: Audit, now: number): Transaction<boolean> {
  const stopped = yield* many<{ id: string }>(sql`
    UPDATE webhook SET ${disabledFor(UNPROVEN, sql`proven_until`)} WHERE id IN (
      SELECT id FROM webhook WHERE everyone = 1 AND enabled = 1 AND proven_until <= ${now} LIMIT ${STOPPED_AT_ONCE})
    RETURNING id`)
  for (const { id } of stopped) {
    yield* auditStop(audit, id)
  }
  return stopped.length === STOPPED_AT_ONCE
}
