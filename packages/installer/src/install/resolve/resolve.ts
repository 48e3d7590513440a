import { isDeepStrictEqual } from 'node:util'
import {
  type Decision,
  decide,
  decisionOf,
  emptyLockFile,
  type Generation,
  type Generations,
  isLoaded,
  type LockedModule,
  type LockFile,
  lockedPackages,
  readConfig,
  readGenerations,
  readLockFile,
} from '@mortise/application'
import { callApplication } from '@mortise/host'
import { timestamp } from '@mortise/module-sdk'
import {
  assertCurrent,
  currentGeneration,
  isExternalChange,
  isSame,
} from '../../changes/current-generation.ts'
import { reportUnreadable } from '../../changes/report-unreadable.ts'
import {
  frozen,
  generationUnreadable,
  noPreviousGeneration,
  noSuchGeneration,
  pausedDisabled,
} from '../../failures/index.ts'
import { asFailure } from '../../reporting/explain.ts'
import { installedId, requireInstalled } from '../../store/installed-packages.ts'
import type { Input } from '../input.ts'
import { assertNoTypo } from './assert-no-typo.ts'
import { hostSource, resolveSpec, type Source } from './source.ts'
import { upgradeSource } from './upgrade-source.ts'

/** The request in terms of sources and the lock file. */
export interface Resolved {
  readonly input: Input
  /** The folder whose store has the staging; a temporary one for a dry run. */
  readonly staging: string
  /** The lock file that was current before. */
  readonly previous: LockFile
  /** Its generation number. */
  readonly generation: number
  /** The lock file after the change, without the packages to fetch. */
  readonly target: LockFile
  /**
   * For an external `target`, such as after `git pull`, which is already in modules.lock.json: the
   * current generation.
   */
  readonly external?: { readonly present: Generation | undefined }
  readonly back?: Generation
  readonly sources: readonly Source[]
  readonly hostSource?: Source
  /** The packages of `target` that the store must have, byte for byte. */
  readonly locked: readonly string[]
  /** The ids of named installed modules that change. */
  readonly changed: readonly string[]
  /** The ids of named modules that already have the requested state. */
  readonly unchanged: readonly string[]
  /** The names that are not installed. */
  readonly absent: readonly string[]
}

/** Resolves the arguments of a command, without fetching. */
export async function resolve(input: Input, staging: string): Promise<Resolved> {
  const { directory } = input
  if (input.kind === 'rollback') return await resolveBack(input, staging)
  const lock = await readLockFile(directory)
  const present = await currentGeneration(directory)
  const resolved = {
    ...{ input, staging, previous: lock, generation: present?.generation ?? lock.generation, target: lock },
    ...{ sources: [], locked: [], changed: [], unchanged: [], absent: [] },
  }
  switch (input.kind) {
    case 'install': {
      const { aliases } = await readConfig(directory)
      const lookup = { directory, cwd: process.cwd(), lock, aliases }
      const found = input.specs.map((spec) => resolveSpec(spec, lookup))
      const other = input.specs.find((_, index) => !('installed' in (found[index] as Source)))
      if (input.frozen && other !== undefined)
        throw frozen({ reason: `modules.lock.json does not name "${other}"` })
      const sources = found.filter((one): one is Source => !('installed' in one))
      const all = [...lockedPackages(lock).keys()]
      if (sources.length === 0 && isExternalChange(lock, present)) {
        const [previous, generation] = [present?.lock ?? emptyLockFile, present?.generation ?? 0]
        return { ...resolved, previous, generation, external: { present }, locked: all }
      }
      assertCurrent(lock, present)
      const named = found.flatMap((one) => ('installed' in one ? [one.installed] : []))
      return { ...resolved, sources, locked: found.length === 0 ? all : named }
    }
    case 'upgrade': {
      const { aliases } = await readConfig(directory)
      const names = input.names.length > 0 ? input.names : Object.keys(lock.modules)
      const sources = names.map((name) => upgradeSource(name, lock, directory, aliases))
      assertCurrent(lock, present)
      return { ...resolved, sources }
    }
    case 'host-upgrade':
      assertCurrent(lock, present)
      return { ...resolved, hostSource: hostSource(input.version, directory, lock) }
    case 'enable':
    case 'disable': {
      const decision = { state: input.kind === 'enable' ? 'active' : 'disabled' } as const
      const ids = [...new Set(input.names.map((name) => requireInstalled(lock, name)))]
      return { ...resolved, ...decided(lock, ids, decision) }
    }
    case 'pause': {
      const id = requireInstalled(lock, input.name)
      if (!isLoaded(decisionOf(lock.modules[id] as LockedModule))) throw pausedDisabled({ id })
      return { ...resolved, ...decided(lock, [id], await pauseFor(directory, input.seconds)) }
    }
    case 'remove': {
      const absent = [...new Set(input.names)].filter((name) => installedId(lock, name) === undefined)
      await assertNoTypo(directory, lock, absent)
      const changed = [...new Set(input.names.flatMap((name) => installedId(lock, name) ?? []))]
      const staying = Object.entries(lock.modules).filter(([id]) => !changed.includes(id))
      return { ...resolved, target: { ...lock, modules: Object.fromEntries(staying) }, changed, absent }
    }
  }
}

function decided(lock: LockFile, ids: readonly string[], decision: Decision) {
  const entries = ids.map((id) => [id, decide(lock.modules[id] as LockedModule, decision)] as const)
  const isSo = (id: string) => isDeepStrictEqual(modules[id], lock.modules[id])
  const modules = { ...lock.modules, ...Object.fromEntries(entries) }
  const [changed, unchanged] = [ids.filter((id) => !isSo(id)), ids.filter(isSo)]
  return { target: { ...lock, modules }, changed, unchanged }
}

/** By the clock of the database, so that the pause ends at the same time on all hosts. */
async function pauseFor(directory: string, seconds: number | undefined): Promise<Decision> {
  if (seconds === undefined) return { state: 'paused' }
  const { now } = await callApplication(directory, 'clock')
  return { state: 'paused', until: timestamp(now + seconds * 1000) }
}

/** The modules of a previous generation. Their packages are in the store, or are fetched again. */
async function resolveBack(input: Input & { kind: 'rollback' }, staging: string): Promise<Resolved> {
  const { directory, terminal } = input
  const previous = await readLockFile(directory)
  const generations = await readGenerations(directory)
  reportUnreadable(generations, terminal)
  const generation = generations.known.at(-1)?.generation
  const back = previousGeneration(generations, previous, input.generation)
  const isThere = isSame(back.lock, previous)
  return {
    ...{ input, staging, previous, generation: generation ?? previous.generation, target: back.lock, back },
    ...{ sources: [], locked: isThere ? [] : [...lockedPackages(back.lock).keys()] },
    ...{ changed: [], unchanged: [], absent: [] },
  }
}

/** Without a number: the last generation with other modules that served. */
function previousGeneration(
  { known, unreadable }: Generations,
  lock: LockFile,
  number: number | undefined,
): Generation {
  const failed = known.map(({ takesBack }) => takesBack)
  const found =
    number === undefined
      ? known.findLast((past) => !failed.includes(past.generation) && !isSame(past.lock, lock))
      : known.find((past) => past.generation === number)
  if (found) return found
  const broken = unreadable.find(({ generation }) => generation === number)
  if (broken) {
    throw generationUnreadable({ generation: broken.generation, reason: asFailure(broken.error).message })
  }
  throw number === undefined ? noPreviousGeneration() : noSuchGeneration({ generation: number })
}
