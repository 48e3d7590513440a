import { decide, type LockedModule, type LockFile } from '@mortise/application'
import semver from 'semver'
import { Failure } from '../../failures/index.ts'
import { lockedModule } from '../../store/installed-packages.ts'
import { isStored } from '../../store/staging.ts'
import type { Resolved } from '../resolve/resolve.ts'
import type { Source } from '../resolve/source.ts'
import type { Candidate } from './candidate.ts'
import { knownVersion } from './known-version.ts'
import { type Restorable, stageLocked } from './restore-store.ts'
import type { StageOptions } from './stage-package.ts'

// A module that was removed has left its migrations in the database. Its name alone then stands for
// the version that they belong to, not for an older one of the index.

/** A fetched module that is older than the migrations in the database. */
export interface Downgrade {
  readonly id: string
  /** The version that was installed here. */
  readonly known: LockedModule
  /** Whether the operator chose the older version: by a range, a file or a folder. */
  readonly isChosen: boolean
}

export interface Preferred {
  readonly target: LockFile
  readonly modules: readonly Candidate[]
  readonly restored: readonly Restorable[]
  readonly downgrades: readonly Downgrade[]
}

/** Replaces fetched modules by the newer versions that were installed here, where they are available. */
export async function preferKnown(
  { input: { directory }, previous, target }: Pick<Resolved, 'input' | 'previous' | 'target'>,
  fetched: readonly Candidate[],
  options: StageOptions,
): Promise<Preferred> {
  const entries: LockFile['modules'] = {}
  const modules: Candidate[] = []
  const restored: Restorable[] = []
  const downgrades: Downgrade[] = []
  for (const candidate of fetched) {
    const { name, version, manifest } = candidate.package
    const { id } = manifest
    const isNew = lockedModule(previous, id) === undefined
    const known = isNew ? await knownVersion(directory, id, name) : undefined
    if (known === undefined || semver.gte(version, known.version)) {
      modules.push(candidate)
      continue
    }
    const entry = decide(known, { state: 'active' })
    const lock = { ...target, modules: { ...target.modules, [id]: entry } }
    const isChosen = !isNameAlone(candidate.source)
    const found = isChosen ? undefined : await fetchKnown(directory, lock, id, options)
    if (found === undefined) {
      modules.push(candidate)
      downgrades.push({ id, known, isChosen })
      continue
    }
    entries[id] = entry
    restored.push(...found)
  }
  return { target: { ...target, modules: { ...target.modules, ...entries } }, modules, restored, downgrades }
}

/** Whether the operator named the module and no version. */
const isNameAlone = ({ package: name, range, target }: Source) =>
  name !== undefined && range === undefined && !target.startsWith(`${name}@`)

/** @returns what is missing in the store, fetched; undefined if it cannot be fetched */
async function fetchKnown(directory: string, lock: LockFile, id: string, options: StageOptions) {
  if (await isStored(directory, lock.modules[id] as LockFile['modules'][string])) return []
  try {
    return await stageLocked(directory, lock, [id], options)
  } catch (error) {
    // Its source is gone. The plan then says that the other version is older.
    if (error instanceof Failure) return undefined
    throw error
  }
}
