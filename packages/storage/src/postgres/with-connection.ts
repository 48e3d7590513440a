import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { StorageUnfitError } from '../port/errors.ts'
import { assertUsable, openingError } from './assert-usable.ts'
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
      await connections.assertOwnSession(client)
      await assertUsable(client)
      return await work(client, place, connections)
    })
  } catch (error) {
    const isUnreachable = error instanceof DatabaseError && error.kind === 'unavailable'
    throw isUnreachable || error instanceof StorageUnfitError ? openingError(place, error) : error
  } finally {
    await connections.close()
  }
}
