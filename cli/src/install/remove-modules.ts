import { Failure } from '../failure.ts'
import { type Lock, readLock } from '../host.ts'
import { missingContracts } from './checks/contracts.ts'
import { readInstalled } from './installed-packages.ts'
import { installedId } from './source.ts'
import { type Switched, switchModules } from './switch-modules.ts'

export interface Removed {
  readonly switched: Switched | undefined
  /** The ids that were removed. */
  readonly removed: readonly string[]
  /** The names of those that were not installed. */
  readonly absent: readonly string[]
}

/**
 * Forgets modules, by id or package name, as one change. Their data and their folders in the store stay. Run
 * it while the application is locked.
 * @throws {Failure} where one that stays requires a contract of theirs
 */
export async function removeModules(directory: string, names: readonly string[]): Promise<Removed> {
  const lock = await readLock(directory)
  const found = new Map(names.map((name) => [name, installedId(lock, name)]))
  const absent = [...found.keys()].filter((name) => found.get(name) === undefined)
  const removed = [...new Set([...found.values()].filter((id) => id !== undefined))]
  if (removed.length === 0) return { switched: undefined, removed, absent }

  const entries = Object.entries(lock.modules)
  const staying = entries.filter(([id]) => !removed.includes(id))
  await checkNotRequired(directory, entries, staying, removed)
  const switched = await switchModules(directory, lock, Object.fromEntries(staying), {})
  return { switched, removed, absent }
}

type Entries = [string, Lock['modules'][string]][]

/** Only what this change makes missing stands in its way, not what was missing before. */
async function checkNotRequired(
  directory: string,
  before: Entries,
  after: Entries,
  removed: readonly string[],
): Promise<void> {
  const missingAfter = missingContracts(await readable(directory, after))
  if (missingAfter.length === 0) return
  const missingBefore = missingContracts(await readable(directory, before))
  const caused = missingAfter.find(
    ({ module, contract }) =>
      !missingBefore.some((former) => former.module === module && former.contract === contract),
  )
  if (!caused) return
  throw new Failure(
    'refused',
    'required',
    `It cannot be removed (${removed.join(', ')}): ${caused.module} requires the contract "${caused.contract}" of it.`,
    `Remove ${caused.module} in the same command, or before.`,
  )
}

/** A module whose folder is gone from the store cannot serve, so it requires nothing. */
async function readable(directory: string, entries: Entries) {
  const active = entries.filter(([, { enabled }]) => enabled)
  const read = await Promise.allSettled(active.map(([id, locked]) => readInstalled(id, locked, directory)))
  return read.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
}
