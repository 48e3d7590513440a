import { type CloudEvent, newId, type Transaction, timestamp } from '@mortise/module-sdk'
import { insertDelivery } from './deliveries.ts'

/** The type of what is sent to try a webhook: sent once, whatever is answered. */
export const TEST_TYPE = 'webhook.test'

/** Writes a delivery of a test event. @returns its id */
export function* insertTest(webhook: string, now: number): Transaction<string> {
  const id = newId('event')
  const event: CloudEvent = {
    specversion: '1.0',
    id,
    type: TEST_TYPE,
    source: '/api-event',
    subject: webhook,
    time: timestamp(now),
    datacontenttype: 'application/json',
    data: {},
  }
  const body = JSON.stringify(event)
  yield* insertDelivery({ webhook, id, type: TEST_TYPE, subject: webhook, position: 0, body }, now)
  return id
}
