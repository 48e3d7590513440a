import { type Outbox, openStorage as open, type Storage, type StorageOptions } from '@mortise/storage'
import { insertion, isEmission } from './emission.ts'
import { assignPositions, EVENTS_CHANNEL, unplaced } from './event-tables.ts'

export const outbox: Outbox = {
  insertion: (step) => (isEmission(step) ? insertion(step.event) : undefined),
  unplaced,
  place: assignPositions,
  channel: EVENTS_CHANNEL,
}

/** See `openStorage` of `@mortise/storage`; this one accepts events. */
export const openStorage = (options: StorageOptions): Promise<Storage> => open({ outbox, ...options })
