import { Type } from '@sinclair/typebox'
import { hasJobTable, type JobsState, readJobs } from '../../events/job-queries.ts'
import { databaseOperation } from '../operation.ts'

const none: JobsState = { works: [], failed: [] }

/** The jobs of modules, with a limited number of failed ones. */
export const jobs = databaseOperation({
  changesNothing: true,
  input: Type.Object({ limit: Type.Integer() }),
  async run({ storage }, { limit }) {
    return hasJobTable(await storage.applied()) ? await storage.snapshot(() => readJobs(limit)) : none
  },
  withoutDatabase: async () => none,
})
