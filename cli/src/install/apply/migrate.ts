import { callApplication, HostRefusedError, type LockFile } from '@mortise/host'
import {
  type Failure,
  hostFailedToMigrate,
  hostRefusedMigration,
  noRoomToMigrate,
} from '../../failures/index.ts'

/** Applies the migrations of modules, through the running host or, if none runs, directly. */
export async function migrate(directory: string, modules: LockFile['modules']): Promise<Applied> {
  if (Object.keys(modules).length === 0) return []
  try {
    return (await callApplication(directory, 'migrate', { modules })).applied
  } catch (error) {
    throw error instanceof HostRefusedError ? notMigrated(error) : error
  }
}

function notMigrated({ status, reason }: HostRefusedError): Failure {
  if (status === 507) return noRoomToMigrate({ reason })
  return status === 409 ? hostRefusedMigration({ reason }) : hostFailedToMigrate({ reason })
}

export type Applied = readonly { module: string; name: string }[]
