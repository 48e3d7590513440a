import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { StorageUnreachableError } from '../port/errors.ts'
import { assertUsable } from './open-postgres.ts'
import { Connections } from './postgres-connections.ts'
import { type PostgresAddress, parsePostgresUrl } from './postgres-url.ts'

/** Hosts may serve meanwhile. @throws {StorageUnreachableError} */
export async function withConnection<Result>(
  url: string,
  work: (client: Client, place: PostgresAddress, connections: Connections) => Promise<Result>,
): Promise<Result> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(place)
  try {
    return await connections.withClient(async (client) => {
      await assertUsable(client)
      return await work(client, place, connections)
    })
  } catch (error) {
    const isUnreachable = error instanceof DatabaseError && error.kind === 'unavailable'
    if (!isUnreachable) throw error
    throw new StorageUnreachableError(`${place.name} cannot be used: ${error.message}`, { cause: error })
  } finally {
    await connections.close()
  }
}
