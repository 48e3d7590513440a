import { type CloudEvent, newId, type Transaction, timestamp } from '@mortise/module-sdk'
import { insertDelivery } from './deliveries.ts'
import type { WebhookRow } from './repository.ts'

/** The type of the test event. It is sent once, without retries. */
export const TEST_TYPE = 'webhook.test'

/** @returns the id of the delivery */
export function* insertTest(webhook: WebhookRow, now: number): Transaction<string> {
  const id = newId('event')
  const event: CloudEvent = {
    specversion: '1.0',
    id,
    type: TEST_TYPE,
    source: '/api-event',
    subject: webhook.id,
    time: timestamp(now),
    datacontenttype: 'application/json',
    data: {},
  }
  const { type, subject } = event
  const { owner } = webhook
  yield* insertDelivery({ id, type, subject, position: 0, owner }, webhook, now, JSON.stringify(event))
  return id
}
