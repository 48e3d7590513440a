import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import {
  differenceOf,
  type LockedPackage,
  lockedPackages,
  type ModulePackage,
  modulesToLoad,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/application'
import { currentGeneration, externalChanges, isExternalChange } from '../changes/current-generation.ts'
import { Failure } from '../failures/index.ts'
import { activateRestored } from '../install/apply/activate.ts'
import { missingContracts } from '../install/plan/checks/contracts.ts'
import { checkHostRange } from '../install/plan/checks/host-range.ts'
import { pruneStore, unreachable } from '../install/prune/prune-store.ts'
import { removeLeftovers } from '../store/leftovers.ts'
import { readPackageJson } from '../store/package-json.ts'
import { holds } from '../store/staging.ts'
import type { AsyncFindings, Findings, FixableFinding } from './finding.ts'

/** Whether the store has what the lock file names, and whether the packages fit together. */
export async function* checkStore(directory: string): AsyncFindings {
  const lock = await readLockFile(directory)
  const toLoad = new Set(modulesToLoad(lock).map(([id]) => id))
  const sound: ModulePackage[] = []
  for (const [name, locked] of lockedPackages(lock)) {
    const finding = await checkPackage(directory, name, locked)
    if (finding) yield finding
    else if (toLoad.has(name)) sound.push(await readPackage(storedModule(directory, locked)))
  }
  for (const one of sound) yield* rangeFindings(one)
  yield* contractFindings(sound)
  yield* unused(directory)
}

async function checkPackage(
  directory: string,
  name: string,
  locked: LockedPackage,
): Promise<FixableFinding | undefined> {
  const place = storedModule(directory, locked)
  if (await holds(place, locked.tree)) return await lockDiffers(name, locked, place)
  const isThere = existsSync(place)
  return {
    id: isThere ? 'package-damaged' : 'package-missing',
    severity: 'error',
    message: isThere
      ? `${name} ${locked.version} in the store was altered. The next start refuses to run it.`
      : `${name} ${locked.version} is not in the store. The next start cannot run it.`,
    hint: 'Run "app module-install" without a name: it downloads the package again and checks that it is the same.',
    async fix() {
      const { npmOptions } = await import('../install/fetch/npm-options.ts')
      const { restoreStore } = await import('../install/fetch/restore-store.ts')
      const lock = await readLockFile(directory)
      try {
        const restored = await restoreStore(directory, lock, [name], await npmOptions(directory))
        await activateRestored(directory, restored)
      } finally {
        await removeLeftovers(directory)
      }
      return `Downloaded again from ${locked.spec}.`
    },
  }
}

/**
 * The content may be right under a wrong name or version, if modules.lock.json was edited by hand.
 */
async function lockDiffers(
  name: string,
  locked: LockedPackage,
  place: string,
): Promise<FixableFinding | undefined> {
  const difference = differenceOf(locked, await readPackageJson(place))
  if (difference === undefined) return undefined
  return {
    id: 'lock-differs',
    severity: 'error',
    message: `${difference}. The next start refuses to run ${name}.`,
    hint: 'Restore modules.lock.json from version control or from a backup.',
  }
}

function* rangeFindings(found: ModulePackage): Findings {
  try {
    checkHostRange(found)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { id } = found.manifest
    yield {
      id: 'host-range',
      severity: 'error',
      message: `${error.message} Its routes return 503 after the next start.`,
      hint: `Upgrade it ("app module-upgrade ${id}"), or disable it ("app module-disable ${id}").`,
    }
  }
}

const contractFindings = (active: readonly ModulePackage[]): FixableFinding[] =>
  missingContracts(active).map(({ module, contract, range }) => ({
    id: 'contract-missing',
    severity: 'error',
    message: `${module} requires the contract "${contract}" (${range}), which no active module provides. Its routes return 503.`,
    hint: `Install or enable a module that provides it, or disable ${module} ("app module-disable ${module}").`,
  }))

async function* unused(directory: string): AsyncFindings {
  const folders = await unreachable(directory, await readLockFile(directory))
  if (folders.length === 0) return
  yield {
    id: 'store-unused',
    severity: 'warning',
    message: `No kept generation uses ${folders.map((path) => basename(path)).join(', ')}. They only use disk space.`,
    hint: 'The next change removes them, as does "app doctor --fix".',
    async fix() {
      await pruneStore(directory, await readLockFile(directory))
      return 'Removed.'
    },
  }
}

/** Whether modules.lock.json differs from the current generation. */
export async function* checkLockFile(directory: string): AsyncFindings {
  const [lock, present] = [await readLockFile(directory), await currentGeneration(directory)]
  if (present === undefined || !isExternalChange(lock, present)) return
  yield {
    id: 'lock-changed',
    severity: 'warning',
    message: `modules.lock.json differs from generation ${present.generation}, the current one. Something other than an app command changed it, for example git pull: ${externalChanges(lock, present)}.`,
    hint: 'Run "app module-install": it prints the plan, takes a snapshot and applies the file. Or restore the previous file (git checkout), or run "app module-rollback".',
  }
}
