import { run } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import {
  discard as discardFailed,
  type EventHandlerState,
  hasFailedEventTable,
  readFailedEvents,
  replay as replayFailed,
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

/** Makes failed events due: all, those of one event, or those of one module. */
export const replay = databaseOperation({
  input: Type.Object({ event: Type.Optional(Type.String()), module: Type.Optional(Type.String()) }),
  migrates: true,
  run: async ({ storage }, choice) => ({
    reactions: await storage.transaction(() => replayFailed(choice)),
  }),
})

/** Discards an event's dead letters and retries, and records that. */
export const discard = databaseOperation({
  input: Type.Object({
    event: Type.String(),
    module: Type.Optional(Type.String()),
    record: OperatorRecord,
  }),
  migrates: true,
  async run({ storage }, { record, ...choice }) {
    return await storage.transaction(function* () {
      const reactions = yield* discardFailed(choice)
      const [first] = reactions
      if (first !== undefined) {
        const { type, subject } = first
        const modules = reactions.map(({ module }) => module)
        yield* run(insertion({ ...record, details: { ...record.details, modules, type, subject } }))
      }
      return { reactions }
    })
  },
})
