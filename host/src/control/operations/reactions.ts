import { Type } from '@sinclair/typebox'
import {
  type EventHandlerState,
  hasFailedEventTable,
  readFailedEvents,
} from '../../events/failed-event-queries.ts'
import { databaseOperation } from '../operation.ts'

const none: EventHandlerState = { subscriptions: [], failed: [] }

/** The progress of event handlers, with a limited number of failed events. */
export const reactions = databaseOperation({
  changesNothing: true,
  input: Type.Object({ limit: Type.Integer() }),
  async run({ storage }, { limit }) {
    return hasFailedEventTable(await storage.applied())
      ? await storage.snapshot(() => readFailedEvents(limit))
      : none
  },
  withoutDatabase: async () => none,
})
