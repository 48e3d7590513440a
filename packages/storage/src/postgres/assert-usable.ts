import type { Client } from 'pg'
import {
  DatabaseLockedError,
  NoDatabaseError,
  StorageRefusedError,
  StorageUnfitError,
  StorageUnreachableError,
} from '../port/errors.ts'
import { isRefused } from './database-error.ts'
import type { PostgresAddress } from './postgres-url.ts'

const OLDEST_VERSION = 14

/** @throws {Error} if this server cannot hold an application */
export async function assertUsable(client: Client): Promise<void> {
  const { rows } = await client.query(`
    SELECT current_setting('server_version_num')::int / 10000 AS version, current_setting('server_encoding') AS encoding`)
  const { version, encoding } = rows[0]
  if (version < OLDEST_VERSION)
    throw new StorageUnfitError(
      `it is PostgreSQL ${version}, and ${OLDEST_VERSION} is the oldest supported version`,
    )
  if (encoding !== 'UTF8')
    throw new StorageUnfitError(`its encoding is ${encoding}: create the database with ENCODING 'UTF8'`)
}

/** For commands, which say what to do by its kind. */
export function openingError({ name }: PostgresAddress, error: unknown): unknown {
  if (error instanceof NoDatabaseError || error instanceof DatabaseLockedError) return error
  const { message, cause } = error as Error
  const reason = `${name} cannot be opened: ${message}`
  if (error instanceof StorageUnfitError) return new StorageUnfitError(reason, { cause: error })
  const Kind = isRefused(cause) ? StorageRefusedError : StorageUnreachableError
  return new Kind(reason, { cause: error })
}
