import { type Lock, type LockedModule, readConfig, readLock } from '@mortise/host'
import { readInstalled, requireInstalled } from '../store/installed-packages.ts'
import { readPackageJson } from '../store/package-json.ts'
import { applyChange, type Switched } from './apply/apply-change.ts'
import { checkModules } from './plan/checks/check-modules.ts'
import { checkNotRequired } from './plan/checks/not-required.ts'
import { probeCandidates } from './probe/probe-candidates.ts'

export interface Enabling {
  readonly switched: Switched | undefined
  readonly generation: number
  /** The ids that changed. */
  readonly changed: readonly string[]
  /** The ids that were so already. */
  readonly unchanged: readonly string[]
}

/**
 * Switches installed modules on again, as one change: checked and probed as when they were installed. Run it
 * while the application is locked.
 * @throws {Failure}
 */
export async function enableModules(
  directory: string,
  command: string,
  names: readonly string[],
): Promise<Enabling> {
  const lock = await readLock(directory)
  const { changed, unchanged } = sortOut(lock, names, true)
  if (changed.length === 0) return { switched: undefined, generation: lock.generation, changed, unchanged }

  const config = await readConfig(directory)
  const read = (id: string) => readInstalled(id, lock.modules[id] as LockedModule, directory)
  const active = Object.keys(lock.modules).filter((id) => lock.modules[id]?.enabled)
  const [fresh, others] = await Promise.all([Promise.all(changed.map(read)), Promise.all(active.map(read))])
  const candidates = await Promise.all(
    fresh.map(async (found) => ({ package: found, json: await readPackageJson(found.directory) })),
  )
  checkModules(candidates, others, config)
  await probeCandidates(config, others, fresh)
  return await change(directory, command, lock, changed, unchanged, true)
}

/**
 * Switches modules off, as one change: code and data stay.
 * @throws {Failure} where one that stays requires a contract of theirs
 */
export async function disableModules(
  directory: string,
  command: string,
  names: readonly string[],
): Promise<Enabling> {
  const lock = await readLock(directory)
  const { changed, unchanged } = sortOut(lock, names, false)
  if (changed.length === 0) return { switched: undefined, generation: lock.generation, changed, unchanged }
  await checkNotRequired(directory, lock, changed, 'disabled')
  return await change(directory, command, lock, changed, unchanged, false)
}

function sortOut(lock: Lock, names: readonly string[], enabled: boolean) {
  const ids = [...new Set(names.map((name) => requireInstalled(lock, name)))]
  const isSo = (id: string) => lock.modules[id]?.enabled === enabled
  return { changed: ids.filter((id) => !isSo(id)), unchanged: ids.filter(isSo) }
}

async function change(
  directory: string,
  command: string,
  lock: Lock,
  changed: readonly string[],
  unchanged: readonly string[],
  enabled: boolean,
): Promise<Enabling> {
  const entries = changed.map((id) => [id, { ...(lock.modules[id] as LockedModule), enabled }] as const)
  const modules = { ...lock.modules, ...Object.fromEntries(entries) }
  const switched = await applyChange({ directory, command, former: lock, modules })
  return { switched, generation: switched.generation, changed, unchanged }
}
