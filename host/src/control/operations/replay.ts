import { Type } from '@sinclair/typebox'
import { replay as replayFailed } from '../../events/failed-event-queries.ts'
import { databaseOperation } from '../operation.ts'

/** Makes failed events due: all, those of one event, or those of one module. */
export const replay = databaseOperation({
  input: Type.Object({ event: Type.Optional(Type.String()), module: Type.Optional(Type.String()) }),
  migrates: true,
  run: async ({ storage }, choice) => ({
    reactions: await storage.transaction(() => replayFailed(choice)),
  }),
})
