import { Type } from '@sinclair/typebox'
import { replayJobs as replayFailed } from '../../events/job-queries.ts'
import { databaseOperation } from '../operation.ts'

/** Makes failed jobs due: all, one, or those of one module. */
export const replayJobs = databaseOperation({
  input: Type.Object({ job: Type.Optional(Type.String()), module: Type.Optional(Type.String()) }),
  migrates: true,
  run: async ({ storage }, choice) => ({ jobs: await storage.transaction(() => replayFailed(choice)) }),
})
