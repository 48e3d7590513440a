import { Type } from '@sinclair/typebox'
import { hasReactions } from '../../events/dead-reactions.ts'
import { type ReactionsState, readReactions } from '../../events/failed-reactions.ts'
import { databaseOperation } from '../operation.ts'

const none: ReactionsState = { subscriptions: [], failed: [] }

/** How far modules have got with events, and at most so many on which they have failed. */
export const reactions = databaseOperation({
  changesNothing: true,
  input: Type.Object({ limit: Type.Integer() }),
  async run({ storage }, { limit }) {
    return hasReactions(await storage.applied()) ? await storage.snapshot(() => readReactions(limit)) : none
  },
  withoutDatabase: async () => none,
})
