import {
  emptyLockFile,
  type Generation,
  type Lock,
  type LockedModule,
  lockedPackages,
  readConfig,
  readGenerations,
  readLockFile,
} from '@mortise/host'
import { assertCurrent, inForce, isExternalChange, isSame } from '../../changes/current-generation.ts'
import { restoreLostLockFile } from '../../changes/lost-lock-file.ts'
import { reportUnreadable } from '../../changes/report-unreadable.ts'
import { installedId, requireInstalled } from '../../store/installed-packages.ts'
import type { Input } from '../input.ts'
import { formerGeneration } from './former-generation.ts'
import { checkFrozen } from './frozen.ts'
import { hostSource, resolveSpec, type Source } from './source.ts'
import { upgradeSource } from './upgrade-source.ts'

/** What is asked for, in terms of sources and of the lock. */
export interface Resolved {
  readonly input: Input
  /** In whose store packages are staged: the application's, or that of a folder which is gone after a dry run. */
  readonly staging: string
  /** What was in force before. */
  readonly former: Lock
  /** Its number. */
  readonly generation: number
  /** What is to be in force, without what is still to be fetched. */
  readonly target: Lock
  /** Where `target` came from outside, by `git pull` say, and is in modules.lock.json already: what was in force. */
  readonly fromOutside?: { readonly present: Generation | undefined }
  /** The generation that is gone back to. */
  readonly back?: Generation
  /** What is fetched from where it comes from. */
  readonly sources: readonly Source[]
  /** The same for the host that is to take over. */
  readonly hostSource?: Source
  /** The packages of `target` that the store must have, to the byte. */
  readonly pinned: readonly string[]
  /** The ids of installed modules that were named, and change. */
  readonly changed: readonly string[]
  /** The ids of those that are so already. */
  readonly unchanged: readonly string[]
  /** The names of those that are not installed. */
  readonly absent: readonly string[]
}

/** Finds out what the words of a command mean: nothing is fetched yet. @throws {Failure} */
export async function resolve(input: Input, staging: string): Promise<Resolved> {
  const { directory } = input
  if (input.kind === 'rollback') return await resolveBack(input, staging)
  const lock = await readLockFile(directory)
  const present = await inForce(directory)
  const resolved = {
    ...{ input, staging, former: lock, generation: present?.generation ?? lock.generation, target: lock },
    ...{ sources: [], pinned: [], changed: [], unchanged: [], absent: [] },
  }
  switch (input.kind) {
    case 'install': {
      const { aliases } = await readConfig(directory)
      const lookup = { directory, cwd: process.cwd(), lock, aliases }
      if (input.frozen) checkFrozen(input.specs, lookup)
      const found = input.specs.map((spec) => resolveSpec(spec, lookup))
      const sources = found.filter((one): one is Source => !('installed' in one))
      const all = [...lockedPackages(lock).keys()]
      if (sources.length === 0 && isExternalChange(lock, present)) {
        const [former, generation] = [present?.lock ?? emptyLockFile, present?.generation ?? 0]
        return { ...resolved, former, generation, fromOutside: { present }, pinned: all }
      }
      await assertCurrent(directory)
      const named = found.flatMap((one) => ('installed' in one ? [one.installed] : []))
      return { ...resolved, sources, pinned: found.length === 0 ? all : named }
    }
    case 'upgrade': {
      const { aliases } = await readConfig(directory)
      const names = input.names.length > 0 ? input.names : Object.keys(lock.modules)
      const sources = names.map((name) => upgradeSource(name, lock, directory, aliases))
      await assertCurrent(directory)
      return { ...resolved, sources }
    }
    case 'host-upgrade':
      await assertCurrent(directory)
      return { ...resolved, hostSource: hostSource(input.version, directory, lock) }
    case 'enable':
    case 'disable': {
      const enabled = input.kind === 'enable'
      const ids = [...new Set(input.names.map((name) => requireInstalled(lock, name)))]
      const isSo = (id: string) => lock.modules[id]?.enabled === enabled
      const changed = ids.filter((id) => !isSo(id))
      const entries = changed.map((id) => [id, { ...(lock.modules[id] as LockedModule), enabled }])
      const modules = { ...lock.modules, ...Object.fromEntries(entries) }
      return { ...resolved, target: { ...lock, modules }, changed, unchanged: ids.filter(isSo) }
    }
    case 'remove': {
      const absent = [...new Set(input.names)].filter((name) => installedId(lock, name) === undefined)
      const changed = [...new Set(input.names.flatMap((name) => installedId(lock, name) ?? []))]
      const staying = Object.entries(lock.modules).filter(([id]) => !changed.includes(id))
      return { ...resolved, target: { ...lock, modules: Object.fromEntries(staying) }, changed, absent }
    }
  }
}

/** What a former generation had: its packages are in the store, or are fetched again. */
async function resolveBack(input: Input & { kind: 'rollback' }, staging: string): Promise<Resolved> {
  const { directory, terminal, dryRun } = input
  const restored = dryRun ? undefined : await restoreLostLockFile(directory)
  if (restored !== undefined) terminal.note(restored)
  const former = await readLockFile(directory)
  const generations = await readGenerations(directory)
  reportUnreadable(generations, terminal)
  const generation = generations.known.at(-1)?.generation
  // A lock that was lost is back: that is the way back which was asked for.
  const wanted = restored === undefined ? input.generation : (input.generation ?? generation)
  const back = formerGeneration(generations, former, wanted)
  const isThere = isSame(back.lock, former)
  return {
    ...{ input, staging, former, generation: generation ?? former.generation, target: back.lock, back },
    ...{ sources: [], pinned: isThere ? [] : [...lockedPackages(back.lock).keys()] },
    ...{ changed: [], unchanged: [], absent: [] },
  }
}
