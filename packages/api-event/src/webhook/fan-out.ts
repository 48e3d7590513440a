import { type Event, type Transaction, toCloudEvent } from '@mortise/module-sdk'
import type { Clock } from './clock.ts'
import { insertDelivery } from './deliveries.ts'
import { findMatching } from './repository.ts'

/** Writes a delivery of an event for each enabled webhook that gets it. */
export function* fanOut(event: Event, clock: Clock): Transaction<void> {
  const webhooks = yield* findMatching(event)
  if (webhooks.length === 0) return
  const now = yield* clock()
  const { id, type, subject, position } = event
  const body = JSON.stringify(toCloudEvent(event))
  for (const webhook of webhooks) {
    yield* insertDelivery({ webhook, id, type, subject, position, body }, now)
  }
}
