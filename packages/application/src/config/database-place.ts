import { one, sql } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'

/**
 * Where a PostgreSQL database is, whatever user, password or name of the server leads there. A copy
 * of the database has the same id, but another place.
 */
export interface DatabasePlace {
  /** When its server started, to the microsecond. */
  readonly started: string
  readonly database: string
  readonly schema: string
}

const place = sql`
  SELECT extract(epoch FROM pg_postmaster_start_time())::text AS started,
    current_database()::text AS database, current_schema()::text AS schema`

export const readPlace = (storage: Storage): Promise<DatabasePlace> =>
  storage.snapshot(() => one<DatabasePlace>(place))
