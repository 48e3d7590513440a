import { Type } from '@sinclair/typebox'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { assertMigrationsUnused } from '../open-application.ts'
import { databaseOperation, RefusedError } from '../operation.ts'
import { byAll } from '../pool.ts'

/** How long a caller waits for the end of a previous generation, in milliseconds. */
const TIMEOUT = 10_000

/**
 * Waits until no previous generation serves, here or, for these modules, on another host of the
 * database.
 */
export const retired = databaseOperation({
  changesNothing: true,
  input: Type.Object({ modules: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))) }),
  inPool: byAll,
  async run(application, { modules = [] }) {
    const retired = application.installed?.retired() ?? Promise.resolve()
    if (!(await settlesWithin(TIMEOUT, retired))) {
      throw new RefusedError(
        `requests from before the change are still in progress after ${TIMEOUT / 1000} s`,
      )
    }
    await assertMigrationsUnused(application, modules)
    return {}
  },
})
