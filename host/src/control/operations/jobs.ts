import { run } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import {
  discardJob as discardFailed,
  hasJobTable,
  type JobsState,
  readJobs,
  replayJobs as replayFailed,
} from '../../events/job-queries.ts'
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

/** Makes failed jobs due: all, one, or those of one module. */
export const replayJobs = databaseOperation({
  input: Type.Object({ job: Type.Optional(Type.String()), module: Type.Optional(Type.String()) }),
  migrates: true,
  run: async ({ storage }, choice) => ({ jobs: await storage.transaction(() => replayFailed(choice)) }),
})

/** Discards a failed job, and records that. */
export const discardJob = databaseOperation({
  input: Type.Object({ job: Type.String(), module: Type.Optional(Type.String()), record: OperatorRecord }),
  migrates: true,
  async run({ storage }, { record, ...choice }) {
    return await storage.transaction(function* () {
      const jobs = yield* discardFailed(choice)
      for (const { module, work } of jobs) {
        yield* run(insertion({ ...record, details: { ...record.details, module, work } }))
      }
      return { jobs }
    })
  },
})
