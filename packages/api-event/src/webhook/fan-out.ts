import type { databaseTime, Event, Transaction } from '@mortise/module-sdk'
import { mayAdd } from './backlog.ts'
import { insertDelivery } from './deliveries.ts'
import { isProven } from './proof.ts'
import { findMatching } from './repository.ts'

/** Creates a delivery of an event for each enabled webhook that matches and has room. */
export function* fanOut(event: Event, mostPending: number, clock: typeof databaseTime): Transaction<void> {
  const webhooks = yield* findMatching(event)
  if (webhooks.length === 0) return
  const now = yield* clock()
  for (const webhook of webhooks) {
    if (!isProven(webhook, now)) continue
    if (yield* mayAdd(webhook, event.position, mostPending, now)) yield* insertDelivery(event, webhook, now)
  }
}
