import {
  type Audit,
  type Caller,
  DAY,
  newId,
  type Page,
  type Transaction,
  timestamp,
} from '@mortise/module-sdk'
import { insufficientScope, invalidRequest, problems } from '../problems.ts'
import * as deliveries from './deliveries.ts'
import type { Destinations } from './destinations.ts'
import * as repository from './repository.ts'
import type {
  CreatedWebhook,
  Delivery,
  DeliveryQuery,
  NewWebhook,
  RotatedSecret,
  Webhook,
  WebhookChange,
  WebhookQuery,
} from './schemas.ts'
import { newSecret, validAt } from './signatures.ts'
import { insertTest } from './test-event.ts'

/**
 * The rules of webhooks. A user has their own; `admin` sees everyone's. What a caller may not see is not found,
 * whatever they try to do with it. What has a webhook get everyone's events takes `event:read`.
 */

/** Secrets that sign at the same time, at most: with more rotations within a day the oldest goes. */
const SECRETS = 5

export function* createWebhook(
  caller: Caller,
  { url, types = [repository.ALL_TYPES], everyone = false, description = '' }: NewWebhook,
  { destinations, perCaller }: { readonly destinations: Destinations; readonly perCaller: number },
  audit: Audit,
  now: number,
): Transaction<CreatedWebhook> {
  if (caller.kind !== 'user') {
    throw problems.create('sign-in-needed', 'A guest has no webhooks: sign in, and use the token.')
  }
  if (everyone) assertReader(caller)
  const address = checkedUrl(url, destinations)
  if ((yield* repository.countWebhooks(caller.id)) >= perCaller) {
    throw problems.create('webhook-limit', `You have ${perCaller} webhooks, which are the most: delete one.`)
  }
  const row: repository.WebhookRow = {
    id: newId('webhook'),
    owner: caller.id,
    everyone: Number(everyone),
    url: address,
    types: JSON.stringify(types),
    description,
    enabled: 1,
    disabledReason: null,
    failingSince: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }
  const secret = newSecret()
  yield* repository.insertWebhook(row, [secret])
  yield* audit({ action: 'webhook.created', object: row.id, details: { everyone } })
  return { ...toWebhook(row, caller), secret: secret.secret }
}

export function* showWebhook(caller: Caller, id: string): Transaction<Webhook> {
  return toWebhook(yield* find(caller, id), caller)
}

/** The caller's, or with `admin` those of `query.owner`. Read it in a snapshot. */
export function* listWebhooks(caller: Caller, query: WebhookQuery): Transaction<Page<Webhook>> {
  const { page, rpp, owner = caller.id } = query
  if (owner !== caller.id && !caller.has('admin')) throw insufficientScope('admin', "list others' webhooks")
  const rows = yield* repository.listWebhooks(owner, page, rpp)
  const total = yield* repository.countWebhooks(owner)
  return { data: rows.map((row) => toWebhook(row, caller)), page, rpp, total }
}

export function* changeWebhook(
  caller: Caller,
  id: string,
  change: WebhookChange,
  destinations: Destinations,
  audit: Audit,
  now: number,
): Transaction<Webhook> {
  const row = yield* find(caller, id)
  const everyone = change.everyone ?? row.everyone === 1
  if (everyone) assertReader(caller)
  const enabled = change.enabled ?? row.enabled === 1
  const asked: repository.WebhookRow = {
    ...row,
    everyone: Number(everyone),
    url: change.url === undefined ? row.url : checkedUrl(change.url, destinations),
    types: change.types === undefined ? row.types : JSON.stringify(change.types),
    description: change.description ?? row.description,
    enabled: Number(enabled),
  }
  const changed = (['url', 'types', 'everyone', 'description', 'enabled'] as const).filter(
    (name) => asked[name] !== row[name],
  )
  if (changed.length === 0) return toWebhook(row, caller)
  // Elsewhere, or enabled again, it has not failed yet.
  const anew = asked.url !== row.url || asked.enabled > row.enabled
  const next: repository.WebhookRow = {
    ...asked,
    disabledReason: enabled ? null : row.disabledReason,
    failingSince: anew ? null : row.failingSince,
    version: row.version + 1,
    updatedAt: now,
  }
  yield* repository.updateWebhook(next)
  yield* audit({ action: 'webhook.changed', object: id, details: { changed, everyone } })
  return toWebhook(next, caller)
}

export function* removeWebhook(caller: Caller, id: string, audit: Audit, now: number): Transaction<void> {
  yield* find(caller, id)
  yield* repository.deleteWebhook(id, now)
  yield* audit({ action: 'webhook.deleted', object: id })
}

/** Makes a new secret. The former ones sign for another day. */
export function* rotateSecret(
  caller: Caller,
  id: string,
  audit: Audit,
  now: number,
): Transaction<RotatedSecret> {
  const row = yield* findToUse(caller, id)
  const until = now + DAY
  const former = validAt(yield* repository.secretsOf(id), now).map((secret) => ({
    ...secret,
    until: secret.until ?? until,
  }))
  const secret = newSecret()
  yield* repository.updateSecrets(id, [secret, ...former].slice(0, SECRETS))
  yield* repository.updateWebhook({ ...row, version: row.version + 1, updatedAt: now })
  yield* audit({ action: 'webhook.secret-rotated', object: id })
  return { secret: secret.secret, formerUntil: timestamp(until) }
}

/** A page of deliveries, newest first, and whether there are more. Read it in a snapshot. */
export function* listDeliveries(
  caller: Caller,
  id: string,
  query: DeliveryQuery,
): Transaction<{ data: Delivery[]; more: boolean }> {
  yield* find(caller, id)
  const { limit } = query
  const rows = yield* deliveries.listDeliveries(id, { ...query, limit: limit + 1 })
  return { data: rows.slice(0, limit).map(toDelivery), more: rows.length > limit }
}

export function* showDelivery(caller: Caller, id: string, delivery: string): Transaction<Delivery> {
  yield* find(caller, id)
  return toDelivery(yield* findDelivery(id, delivery))
}

/** Sends a delivery again, under the same id; one that is pending already, at once. */
export function* replayDelivery(
  caller: Caller,
  id: string,
  delivery: string,
  now: number,
): Transaction<Delivery> {
  const webhook = yield* findToUse(caller, id)
  const found = yield* findDelivery(id, delivery)
  assertEnabled(webhook)
  yield* deliveries.replayDelivery(id, found, now)
  return toDelivery(yield* findDelivery(id, delivery))
}

/** Sends a test event. */
export function* testWebhook(caller: Caller, id: string, now: number): Transaction<Delivery> {
  assertEnabled(yield* findToUse(caller, id))
  return toDelivery(yield* findDelivery(id, yield* insertTest(id, now)))
}

function* find(caller: Caller, id: string): Transaction<repository.WebhookRow> {
  const webhook = yield* repository.findWebhook(id, caller.has('admin') ? repository.EVERYONE : caller.id)
  if (webhook) return webhook
  throw problems.create(
    'webhook-not-found',
    'You have no webhook with this id: GET /webhook lists those you have.',
  )
}

/** Finds one to have something sent by it. */
function* findToUse(caller: Caller, id: string): Transaction<repository.WebhookRow> {
  const webhook = yield* find(caller, id)
  if (webhook.everyone === 1) assertReader(caller)
  return webhook
}

function* findDelivery(webhook: string, id: string): Transaction<deliveries.DeliveryRow> {
  const delivery = yield* deliveries.findDelivery(webhook, id)
  if (delivery) return delivery
  throw problems.create(
    'delivery-not-found',
    'This webhook has no delivery with this id, or none any more: GET /webhook/:id/delivery lists those it has.',
  )
}

function assertReader(caller: Caller): void {
  if (!caller.has('event:read')) throw insufficientScope('event:read', "have everyone's events sent")
}

function assertEnabled({ enabled }: repository.WebhookRow): void {
  if (enabled === 1) return
  throw problems.create(
    'webhook-disabled',
    'This webhook is disabled, and nothing is sent: enable it with PATCH { "enabled": true }.',
  )
}

/** A URL that may be sent to, in its normal form. */
function checkedUrl(text: string, destinations: Destinations): string {
  const url = URL.parse(text)
  const refusal = url === null ? 'is no URL' : destinations.refusal(url)
  if (url === null || refusal !== undefined) {
    throw invalidRequest({ pointer: '/url', detail: refusal ?? 'is no URL' })
  }
  return url.href
}

function toWebhook(row: repository.WebhookRow, caller: Caller): Webhook {
  return {
    id: row.id,
    url: row.url,
    types: JSON.parse(row.types),
    everyone: row.everyone === 1,
    description: row.description,
    enabled: row.enabled === 1,
    disabledReason: row.disabledReason,
    failingSince: nullable(row.failingSince),
    version: row.version,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
    ...(caller.has('admin') && { owner: row.owner }),
  }
}

function toDelivery(row: deliveries.DeliveryRow): Delivery {
  const { id, type, subject, state, attempts, status, error, response } = row
  return {
    id,
    type,
    subject,
    state,
    attempts,
    nextAttemptAt: nullable(row.claim === null ? row.dueAt : null),
    lastAttemptAt: nullable(row.attemptedAt),
    status,
    error,
    response,
    createdAt: timestamp(row.createdAt),
    endedAt: nullable(row.endedAt),
  }
}

const nullable = (at: number | null) => (at === null ? null : timestamp(at))
