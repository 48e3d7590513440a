import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { StorageUnfitError } from '../port/errors.ts'
import { assertUsable, openingError } from './assert-usable.ts'
import { despiteLocks } from './lock-holders.ts'
import { Connections } from './postgres-connections.ts'
import { type PostgresAddress, parsePostgresUrl } from './postgres-url.ts'

/**
 * Hosts may serve meanwhile.
 * @param work has no effect if it fails for a lock, after which it is tried again
 * @throws {StorageUnreachableError}
 * @throws {DatabaseLockedError} if another session holds the lock for long
 */
export async function withConnection<Result>(
  url: string,
  work: (client: Client, place: PostgresAddress, connections: Connections) => Promise<Result>,
): Promise<Result> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(place)
  try {
    return await connections.withClient(async (client) => {
      await connections.assertOwnSession(client)
      await assertUsable(client)
      return await despiteLocks(
        client,
        (look) => connections.withClient(look),
        () => work(client, place, connections),
      )
    })
  } catch (error) {
    const isUnreachable =
      error instanceof DatabaseError && (error.kind === 'unavailable' || error.kind === 'busy')
    throw isUnreachable || error instanceof StorageUnfitError ? openingError(place, error) : error
  } finally {
    await connections.close()
  }
}
