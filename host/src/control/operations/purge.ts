import { MigrationError } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { insertion, OperatorRecord } from '../../events/audit-trail.ts'
import { deleteSubscription } from '../../events/failed-event-queries.ts'
import { deleteJobs } from '../../events/job-queries.ts'
import { assertMigrationsUnused } from '../open-application.ts'
import { databaseOperation } from '../operation.ts'

/** Drops a module's event cursor, jobs and tables, and records that. The module is not installed. */
export const purge = databaseOperation({
  input: Type.Object({ module: Type.String(), record: OperatorRecord }),
  migrates: true,
  async run(application, { module, record }) {
    const { installed, storage } = application
    if (installed?.modules.some(({ id }) => id === module)) {
      throw new MigrationError(`the tables of ${module} cannot be dropped: it is installed`)
    }
    await assertMigrationsUnused(application, [module])
    await storage.transaction(function* () {
      yield* deleteSubscription(module)
      yield* deleteJobs(module)
    })
    return await storage.purge(module, insertion(record))
  },
})
