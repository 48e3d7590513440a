import type { LockFile } from '@mortise/application'
import { callApplication, HostRefusedError } from '@mortise/host'
import { hostFailedToMigrate, hostRefusedMigration, noRoomToMigrate } from '../../failures/index.ts'

export type AppliedMigrations = readonly { module: string; name: string }[]

/** Applies the migrations of modules, through the running host or, if none runs, directly. */
export async function migrate(directory: string, modules: LockFile['modules']): Promise<AppliedMigrations> {
  if (Object.keys(modules).length === 0) return []
  try {
    return (await callApplication(directory, 'migrate', { modules })).applied
  } catch (error) {
    if (!(error instanceof HostRefusedError)) throw error
    const { status, reason } = error
    if (status === 507) throw noRoomToMigrate({ reason })
    throw status === 409 ? hostRefusedMigration({ reason }) : hostFailedToMigrate({ reason })
  }
}
