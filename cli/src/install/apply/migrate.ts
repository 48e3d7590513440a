import { callApplication, HostRefusedError, type Lock } from '@mortise/host'
import { Failure } from '../../failures/index.ts'

/** Applies the migrations of modules, through the running host or, if none runs, directly. */
export async function migrate(directory: string, modules: Lock['modules']): Promise<Applied> {
  if (Object.keys(modules).length === 0) return []
  try {
    return (await callApplication(directory, 'migrate', { modules })).applied
  } catch (error) {
    throw error instanceof HostRefusedError ? notMigrated(error) : error
  }
}

function notMigrated({ status, reason }: HostRefusedError): Failure {
  if (status === 507) {
    return new Failure(
      'refused',
      'disk-full',
      `The running host has no room to migrate its database: ${reason}.`,
      'The former modules stay in use, and reads go on. Make room on its disk, then repeat the command.',
    )
  }
  return new Failure(
    status === 409 ? 'refused' : 'unexpected',
    'migration-failed',
    `The running host could not migrate the database: ${reason}.`,
    'The former modules stay in use. The migration has to be corrected by whoever wrote the module.',
  )
}

export type Applied = readonly { module: string; name: string }[]

export const namesOf = (applied: Applied) => applied.map(({ module, name }) => `${module}/${name}`)
