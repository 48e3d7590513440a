import {
  type Audit,
  type Caller,
  type CursorPage,
  DAY,
  type Deleted,
  type Destinations,
  type databaseTime,
  type Event,
  insufficientScope,
  invalidRequest,
  newId,
  type Page,
  type Transaction,
  timestamp,
  toCloudEvent,
} from '@mortise/module-sdk'
import { linkTo } from '../link.ts'
import { problem } from '../module.ts'
import * as deliveries from './deliveries.ts'
import { disabledIfUnproven, type Proof, proofBy, setProof, stop } from './proof.ts'
import * as repository from './repository.ts'
import type {
  CreatedWebhook,
  Delivery,
  DeliveryList,
  DeliveryQuery,
  NewWebhook,
  RotatedSecret,
  Webhook,
  WebhookChange,
  WebhookQuery,
} from './schemas.ts'
import { newSecret, validAt } from './signatures.ts'

/**
 * The rules of webhooks. A user sees their own; `admin` sees everyone's. A webhook that the caller
 * may not see is 404 for every operation. A request needs `event:read` if it makes a webhook get
 * everyone's events or shows them, but not if it reduces the events.
 */

/** Who asks, and the audit trail in their name: of a request. */
interface Asking {
  readonly caller: Caller
  readonly audit: Audit
}

/** The limits from the settings and the installed modules. */
export interface WebhookRules {
  readonly clock: typeof databaseTime
  readonly destinations: Destinations
  /** The event types that installed modules emit. */
  readonly eventTypes: { has(type: string): boolean }
  /** The most webhooks of a caller. */
  readonly perCaller: number
  /** The proof for everyone's events holds for this many days. */
  readonly proofDays: number
  /** The most pending deliveries of a webhook. */
  readonly mostPending: number
}

const noProof: Proof = { proof: null, provenUntil: null }

/** The most secrets that sign at the same time. One more rotation within a day drops the oldest. */
const SECRETS = 5

export function* createWebhook(
  { caller, audit }: Asking,
  { url, types = [repository.ALL_TYPES], everyone = false, description = '' }: NewWebhook,
  { clock, destinations, eventTypes, perCaller, proofDays }: WebhookRules,
): Transaction<CreatedWebhook> {
  if (caller.kind !== 'user') {
    throw problem('sign-in-needed', 'A guest cannot have webhooks: sign in and send the token.')
  }
  if (everyone) assertReader(caller)
  const address = checkedUrl(url, destinations)
  assertKnown(types, eventTypes)
  if ((yield* repository.countWebhooks(caller.id)) >= perCaller) {
    throw problem('webhook-limit', `You have ${perCaller} webhooks, the maximum: delete one.`)
  }
  const now = yield* clock()
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
    ...(everyone ? proofBy(caller, now, proofDays) : noProof),
    behindSince: null,
    missedUntil: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
  }
  const secret = newSecret()
  yield* repository.insertWebhook(row, [secret])
  yield* audit({ action: 'webhook.created', object: row.id, details: { everyone } })
  return { ...toWebhook(row, caller), secret: secret.secret }
}

export function* showWebhook(caller: Caller, id: string, { clock }: WebhookRules): Transaction<Webhook> {
  return toWebhook(disabledIfUnproven(yield* find(caller, id), yield* clock()), caller)
}

/** The caller's webhooks, or with `admin` those of `query.owner`. Read it in a snapshot. */
export function* listWebhooks(
  caller: Caller,
  query: WebhookQuery,
  { clock }: WebhookRules,
): Transaction<Page<Webhook> | CursorPage<Webhook>> {
  const now = yield* clock()
  const owner = ownerOf(caller, query)
  const where = owner === repository.EVERYONE ? {} : { owner }
  return yield* repository.webhooks.read(query, { where }, (row) =>
    toWebhook(disabledIfUnproven(row, now), caller),
  )
}

function ownerOf(caller: Caller, { owner = caller.id }: WebhookQuery): string {
  if (owner !== caller.id && !caller.has('admin'))
    throw insufficientScope('admin', "list other callers' webhooks")
  return owner
}

export function* changeWebhook(
  { caller, audit }: Asking,
  id: string,
  change: WebhookChange,
  { clock, destinations, eventTypes, proofDays }: WebhookRules,
): Transaction<Webhook> {
  const now = yield* clock()
  const row = yield* stop(yield* find(caller, id), audit, now)
  const everyone = change.everyone ?? row.everyone === 1
  const enabled = change.enabled ?? row.enabled === 1
  const previous: string[] = JSON.parse(row.types)
  // A webhook keeps a type even if the module that emits it is gone.
  if (change.types) assertKnown(change.types, eventTypes, previous)
  const asked: repository.WebhookRow = {
    ...row,
    everyone: Number(everyone),
    url: change.url === undefined ? row.url : checkedUrl(change.url, destinations),
    types: change.types === undefined ? row.types : JSON.stringify(change.types),
    description: change.description ?? row.description,
    enabled: Number(enabled),
  }
  const widens =
    asked.everyone > row.everyone ||
    asked.enabled > row.enabled ||
    asked.url !== row.url ||
    (change.types !== undefined && !isWithin(change.types, previous))
  if (everyone && widens) assertReader(caller)
  const saysSo = widens || change.everyone || change.enabled
  const isProof = everyone && proves(caller, row, saysSo)
  const proof = isProof ? proofBy(caller, now, proofDays) : row
  const changed = (['url', 'types', 'everyone', 'description', 'enabled'] as const).filter(
    (name) => asked[name] !== row[name],
  )
  if (changed.length === 0) {
    if (isProof) yield* setProof(id, proof)
    return toWebhook({ ...row, provenUntil: proof.provenUntil }, caller)
  }
  // A webhook with a new URL, or enabled again, has not failed yet.
  const startsOver = asked.url !== row.url || asked.enabled > row.enabled
  const next: repository.WebhookRow = {
    ...asked,
    disabledReason: enabled ? null : row.disabledReason,
    failingSince: startsOver ? null : row.failingSince,
    provenUntil: everyone ? proof.provenUntil : null,
    proof: everyone ? proof.proof : null,
    behindSince: enabled ? row.behindSince : null,
    missedUntil: asked.enabled > row.enabled ? null : row.missedUntil,
    version: row.version + 1,
    updatedAt: now,
  }
  yield* repository.updateWebhook(next)
  yield* audit({ action: 'webhook.changed', object: id, details: { changed, everyone } })
  return toWebhook(next, caller)
}

export function* removeWebhook(
  { caller, audit }: Asking,
  id: string,
  { clock }: WebhookRules,
): Transaction<Deleted> {
  yield* find(caller, id)
  yield* repository.deleteWebhook(id, yield* clock())
  yield* audit({ action: 'webhook.deleted', object: id })
  return { id, deleted: true }
}

/** Makes a new secret. The earlier ones sign for one more day. */
export function* rotateSecret(
  { caller, audit }: Asking,
  id: string,
  rules: WebhookRules,
): Transaction<RotatedSecret> {
  const now = yield* rules.clock()
  yield* stop(yield* find(caller, id), audit, now)
  const row = yield* findToUse(caller, id, rules, now)
  const until = now + DAY
  const previous = validAt(yield* repository.secretsOf(id), now).map((secret) => ({
    ...secret,
    until: secret.until ?? until,
  }))
  const secret = newSecret()
  yield* repository.updateSecrets(id, [secret, ...previous].slice(0, SECRETS))
  yield* repository.updateWebhook({ ...row, version: row.version + 1, updatedAt: now })
  yield* audit({ action: 'webhook.secret-rotated', object: id })
  return { secret: secret.secret, previousUntil: timestamp(until) }
}

/** A page of deliveries, newest first, for the request with this URL. Read it in a snapshot. */
export function* listDeliveries(
  caller: Caller,
  id: string,
  query: DeliveryQuery,
  url: string,
): Transaction<DeliveryList> {
  yield* findToRead(caller, id)
  const { limit } = query
  const own = !caller.has(READ)
  const rows = yield* deliveries.listDeliveries(id, { ...query, own, limit: limit + 1 })
  const data = rows.slice(0, limit).map(toDelivery)
  return { data, next: rows.length > limit ? linkTo(url, 'before', data.at(-1)?.id ?? '') : null }
}

export function* showDelivery(caller: Caller, id: string, delivery: string): Transaction<Delivery> {
  yield* findToRead(caller, id)
  return toDelivery(yield* findDelivery(caller, id, delivery))
}

/** Sends a delivery again, under the same id. A pending delivery becomes due at once. */
export function* replayDelivery(
  caller: Caller,
  id: string,
  delivery: string,
  rules: WebhookRules,
): Transaction<Delivery> {
  const now = yield* rules.clock()
  const webhook = yield* findToUse(caller, id, rules, now)
  const found = yield* findDelivery(caller, id, delivery)
  assertEnabled(webhook)
  if (found.state !== 'pending') yield* assertRoom(id, rules)
  yield* deliveries.replayDelivery(id, found, now)
  return toDelivery(yield* findDelivery(caller, id, delivery))
}

/** Sends a test event, once and without retries. */
export function* testWebhook(caller: Caller, id: string, rules: WebhookRules): Transaction<Delivery> {
  const now = yield* rules.clock()
  const webhook = yield* findToUse(caller, id, rules, now)
  assertEnabled(webhook)
  yield* assertRoom(id, rules)
  const about = { id: newId('event'), type: deliveries.TEST_TYPE, source: 'api-event', subject: id, data: {} }
  const event: Event = { ...about, owner: null, at: now, traceparent: null, position: 0 }
  const body = JSON.stringify(toCloudEvent(event))
  yield* deliveries.insertDelivery({ ...event, owner: webhook.owner }, webhook, now, body)
  return toDelivery(yield* findDelivery(caller, id, event.id))
}

function* find(caller: Caller, id: string): Transaction<repository.WebhookRow> {
  const webhook = yield* repository.findWebhook(id, caller.has('admin') ? repository.EVERYONE : caller.id)
  if (webhook) return webhook
  throw problem('webhook-not-found', 'You have no webhook with this id: GET /webhook lists your webhooks.')
}

/** Finds a webhook for reading its deliveries. */
function* findToRead(caller: Caller, id: string): Transaction<repository.WebhookRow> {
  const webhook = yield* find(caller, id)
  if (webhook.everyone === 1) assertReader(caller)
  return webhook
}

/** Finds a webhook for sending with it. */
function* findToUse(
  caller: Caller,
  id: string,
  { proofDays }: WebhookRules,
  now: number,
): Transaction<repository.WebhookRow> {
  const webhook = disabledIfUnproven(yield* findToRead(caller, id), now)
  if (webhook.everyone === 0 || !proves(caller, webhook)) return webhook
  const proof = proofBy(caller, now, proofDays)
  yield* setProof(id, proof)
  return { ...webhook, ...proof }
}

/** Others' events of a webhook that no longer gets them are 404. */
function* findDelivery(caller: Caller, webhook: string, id: string): Transaction<deliveries.DeliveryRow> {
  const delivery = yield* deliveries.findDelivery(webhook, id)
  if (delivery && (delivery.ofOthers === 0 || caller.has(READ))) return delivery
  throw problem(
    'delivery-not-found',
    'This webhook has no delivery with this id: GET /webhook/:id/delivery lists its deliveries. Old ones are deleted.',
  )
}

/** The scope for everyone's events. */
const READ = 'event:read'

function assertReader(caller: Caller): void {
  if (!caller.has(READ)) throw insufficientScope(READ, 'see or receive the events of all callers')
}

/** The owner proves it with the scope, and so does an admin who states it. */
function proves(caller: Caller, { owner }: repository.WebhookRow, saysSo = false): boolean {
  return caller.has(READ) && (caller.id === owner || saysSo)
}

const isWithin = (types: readonly string[], previous: readonly string[]) =>
  previous.includes(repository.ALL_TYPES) || types.every((type) => previous.includes(type))

function assertKnown(
  types: readonly string[],
  known: WebhookRules['eventTypes'],
  previous: readonly string[] = [],
): void {
  const unknown = types.flatMap((type, index) =>
    type === repository.ALL_TYPES || known.has(type) || previous.includes(type)
      ? []
      : [{ pointer: `/types/${index}`, detail: 'no installed module emits events of this type' }],
  )
  if (unknown.length > 0) throw invalidRequest(...unknown)
}

function* assertRoom(webhook: string, { mostPending }: WebhookRules): Transaction<void> {
  if ((yield* deliveries.countPending(webhook, mostPending)) < mostPending) return
  throw problem(
    'webhook-full',
    `This webhook has ${mostPending} pending deliveries, the maximum: repair the receiver, and try again once some have ended.`,
  )
}

function assertEnabled({ enabled }: repository.WebhookRow): void {
  if (enabled === 1) return
  throw problem('webhook-disabled', 'This webhook is disabled: enable it with PATCH { "enabled": true }.')
}

/** Checks that a URL may be sent to, and normalizes it. */
function checkedUrl(text: string, destinations: Destinations): string {
  const url = URL.parse(text)
  const refusal = url === null ? 'is not a URL' : destinations.refusal(url)
  if (url === null || refusal !== undefined) {
    throw invalidRequest({ pointer: '/url', detail: refusal ?? 'is not a URL' })
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
    failingSince: timestamp(row.failingSince),
    provenUntil: timestamp(row.provenUntil),
    behindSince: timestamp(row.behindSince),
    missedUntil: timestamp(row.missedUntil),
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
    nextAttemptAt: timestamp(row.lease === null ? row.dueAt : null),
    lastAttemptAt: timestamp(row.attemptedAt),
    status,
    error,
    response,
    createdAt: timestamp(row.createdAt),
    endedAt: timestamp(row.endedAt),
  }
}
