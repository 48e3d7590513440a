import { run } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import { discardJob as discardFailed } from '../../events/job-queries.ts'
import { databaseOperation } from '../operation.ts'

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
