import { readLock } from '@mortise/host'
import { installedId } from '../store/installed-packages.ts'
import { applyChange, type Switched } from './apply/apply-change.ts'
import { checkNotRequired } from './plan/checks/not-required.ts'

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
 * @param agree rejects where they are not to be removed: asked when all that can refuse it has been
 * @throws {Failure} where one that stays requires a contract of theirs
 */
export async function removeModules(
  directory: string,
  command: string,
  names: readonly string[],
  agree: () => Promise<void>,
): Promise<Removed> {
  const lock = await readLock(directory)
  const found = new Map(names.map((name) => [name, installedId(lock, name)]))
  const absent = [...found.keys()].filter((name) => found.get(name) === undefined)
  const removed = [...new Set([...found.values()].filter((id) => id !== undefined))]
  if (removed.length === 0) {
    await agree()
    return { switched: undefined, removed, absent }
  }

  const entries = Object.entries(lock.modules)
  const staying = entries.filter(([id]) => !removed.includes(id))
  await checkNotRequired(directory, lock, removed, 'removed')
  await agree()
  const switched = await applyChange({
    directory,
    command,
    former: lock,
    modules: Object.fromEntries(staying),
  })
  return { switched, removed, absent }
}
