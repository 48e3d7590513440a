import { callRunningHost, type Lock, migrateApplication, StorageBusyError } from '@mortise/host'
import { Failure } from '../../failures/index.ts'

/** Applies the migrations that modules bring: by the running host, or alone. @throws {Failure} */
export async function migrate(directory: string, modules: Lock['modules']): Promise<Applied> {
  if (Object.keys(modules).length === 0) return []
  const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
  if (answer === undefined) return await migrateAlone(directory, modules)
  const { applied, reason } = answer.body as { applied?: Applied; reason?: string }
  if (answer.status === 200 && applied) return applied
  if (answer.status === 507) {
    throw new Failure(
      'refused',
      'disk-full',
      `The running host has no room to migrate its database: ${reason}.`,
      'The former modules stay in use, and reads go on. Make room on its disk, then repeat the command.',
    )
  }
  throw new Failure(
    answer.status === 409 ? 'refused' : 'unexpected',
    'migration-failed',
    `The running host could not migrate the database: ${reason ?? `it answered ${answer.status}`}.`,
    'The former modules stay in use. The migration has to be corrected by whoever wrote the module.',
  )
}

/** What was applied. */
export type Applied = readonly { module: string; name: string }[]

/** `api-cart/001-cart`. */
export const namesOf = (applied: Applied) => applied.map(({ module, name }) => `${module}/${name}`)

/** A host that was started a moment ago has the database: then it is asked. */
async function migrateAlone(directory: string, modules: Lock['modules']): Promise<Applied> {
  try {
    return await migrateApplication(directory, modules)
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
    if (answer?.status !== 200) throw error
    return (answer.body as { applied: Applied }).applied
  }
}
