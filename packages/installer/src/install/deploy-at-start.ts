import { lockedPackages, modulesToLoad, readLockFile } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import { currentGeneration, isExternalChange } from '../changes/current-generation.ts'
import { Failure } from '../failures/index.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { applyExternalChange } from './apply/apply-change.ts'
import { takeSnapshot } from './apply/take-snapshot.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { missingInStore, restoreStore } from './fetch/restore-store.ts'
import { changeApplication } from './pipeline.ts'

/**
 * Applies an external modules.lock.json before the host starts, with a snapshot and a record.
 * It probes nothing: at a start, a module that cannot serve is failed, and the others serve.
 * @throws {Failure} if the snapshot fails, because the start would migrate without one
 */
export async function deployAtStart(directory: string, terminal: Reporter): Promise<void> {
  if ((await externalChange(directory)) === undefined) return
  // A second host, which the start will reject.
  if ((await callRunningHost(directory, 'state')) !== undefined) return
  await changeApplication(directory, 'start', terminal, async () => {
    const found = await externalChange(directory)
    if (found === undefined) return
    try {
      await takeUp(directory, terminal, found)
    } catch (error) {
      if (!(error instanceof Failure) || error.code === 'snapshot-failed') throw error
      terminal.note(`${error.message} ${error.hint}`)
    }
  })
}

type ExternalChange = NonNullable<Awaited<ReturnType<typeof externalChange>>>

/** Undefined if the lock file is current, or nothing is, as in a fresh clone. */
async function externalChange(directory: string) {
  const [lock, present] = [await readLockFile(directory), await currentGeneration(directory)]
  return present !== undefined && isExternalChange(lock, present) ? { lock, present } : undefined
}

async function takeUp(
  directory: string,
  terminal: Reporter,
  { lock, present }: ExternalChange,
): Promise<void> {
  const npm = await npmOptions(directory)
  const names = [...lockedPackages(lock).keys()]
  for (const name of await missingInStore(directory, lock, names)) {
    await terminal
      .during(`Fetching ${name}`, () => restoreStore(directory, lock, [name], npm))
      .catch((error: Error) => terminal.note(`${name} cannot be fetched now: ${error.message}`))
  }
  const missing = await missingInStore(directory, lock, names)
  if (missing.length === 0) {
    await applyExternalChange(directory, 'start', lock)
    return
  }
  // Deploys only the modules whose packages are present. The others migrate when their packages
  // arrive.
  const there = modulesToLoad(lock).filter(([id]) => !missing.includes(id))
  await takeSnapshot(directory, present.generation, Object.fromEntries(there))
}
