import { Failure } from '../failure.ts'
import { callRunningHost, type Lock, migrateApplication, StorageBusyError, writeLock } from '../host.ts'

export interface Switched {
  readonly generation: number
  /** Whether a running host serves the change already. */
  readonly live: boolean
  /** The migrations that were applied: `api-cart/001-cart`. */
  readonly migrations: readonly string[]
}

/**
 * Commits a change of what is installed: migrates, writes the lock (the commit point), and lets a running host
 * switch. Where that fails the lock has its former content back, as a generation of its own.
 *
 * @param fresh the modules whose migrations are to be applied; they lie in the store
 * @throws {Failure} refused before the commit (4), or undone after it (5)
 */
export async function switchModules(
  directory: string,
  former: Lock,
  modules: Lock['modules'],
  fresh: Lock['modules'],
): Promise<Switched> {
  const applied = Object.keys(fresh).length > 0 ? await migrate(directory, fresh) : []
  const next: Lock = { ...former, generation: former.generation + 1, modules }
  await writeLock(directory, next)
  const failure = await activate(directory)
  if (failure?.live === false) return { generation: next.generation, live: false, migrations: applied }
  if (failure === undefined) return { generation: next.generation, live: true, migrations: applied }

  await writeLock(directory, { ...former, generation: next.generation + 1 })
  const again = await activate(directory)
  const back =
    again === undefined ? 'The former modules are back and serving.' : 'The lock is back as it was.'
  throw new Failure(
    'activation',
    'activation-failed',
    `The running host could not take up the change: ${failure.reason}. ${back}`,
    'Correct what it says, then try again. Data and former modules are as they were.',
  )
}

async function migrate(directory: string, modules: Lock['modules']): Promise<string[]> {
  const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
  if (answer === undefined) return await migrateAlone(directory, modules)
  const { applied, reason } = answer.body as { applied?: Applied; reason?: string }
  if (answer.status === 200 && applied) return namesOf(applied)
  throw new Failure(
    answer.status === 409 ? 'refused' : 'unexpected',
    'migration-failed',
    `The running host could not migrate the database: ${reason ?? `it answered ${answer.status}`}.`,
    'The former modules stay in use. The migration has to be corrected by whoever wrote the module.',
  )
}

type Applied = readonly { module: string; name: string }[]

const namesOf = (applied: Applied) => applied.map(({ module, name }) => `${module}/${name}`)

/** A host that was started a moment ago has the database: then it is asked. */
async function migrateAlone(directory: string, modules: Lock['modules']): Promise<string[]> {
  try {
    return namesOf(await migrateApplication(directory, modules))
  } catch (error) {
    if (!(error instanceof StorageBusyError)) throw error
    const answer = await callRunningHost(directory, { method: 'POST', path: '/migrate', body: { modules } })
    if (answer?.status !== 200) throw error
    return namesOf((answer.body as { applied: Applied }).applied)
  }
}

/** @returns undefined where the running host has switched */
async function activate(
  directory: string,
): Promise<{ live: false } | { live: true; reason: string } | undefined> {
  try {
    const answer = await callRunningHost(directory, { method: 'POST', path: '/activate' })
    if (answer === undefined) return { live: false }
    if (answer.status === 200) return undefined
    const { module, reason } = answer.body as { module?: string; reason?: string }
    const why = reason ?? `it answered ${answer.status}`
    return { live: true, reason: module === undefined ? why : `${module}: ${why}` }
  } catch (error) {
    return { live: true, reason: (error as Error).message }
  }
}
