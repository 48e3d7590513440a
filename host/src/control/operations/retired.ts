import { Type } from '@sinclair/typebox'
import { settlesWithin } from '../../telemetry/settles-within.ts'
import { assertMigrationsUnused } from '../open-application.ts'
import { databaseOperation, RefusedError } from '../operation.ts'
import { byAll } from '../pool.ts'

/**
 * How long a previous generation may continue to serve while a caller waits for its end, in
 * milliseconds.
 */
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
        `requests that began before the change are still not answered after ${TIMEOUT / 1000} s`,
      )
    }
    await assertMigrationsUnused(application, modules)
    return {}
  },
})
