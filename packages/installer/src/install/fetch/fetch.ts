import { readConfig } from '@mortise/application'
import { Failure, previousNotFetched, storeIncompleteForDryRun } from '../../failures/index.ts'
import { KEPT } from '../../store/installed-packages.ts'
import { checkLockedBytes } from '../../store/same-bytes.ts'
import { isStored } from '../../store/staging.ts'
import type { Resolved } from '../resolve/resolve.ts'
import type { Source } from '../resolve/source.ts'
import type { Candidate } from './candidate.ts'
import { fetchPackage } from './fetch-package.ts'
import type { NpmOptions } from './npm-libraries.ts'
import { npmOptions } from './npm-options.ts'
import { type Downgrade, preferKnown } from './prefer-known.ts'
import { ageLimit } from './release-age.ts'
import { missingInStore, type Restorable, restorePackages, stageLocked } from './restore-store.ts'
import { stageAll } from './stage-all.ts'
import type { HostCandidate } from './stage-host.ts'

/** The fetched packages are in staging, unpacked and complete. None of their code has run. */
export interface Fetched extends Resolved {
  readonly modules: readonly Candidate[]
  readonly host?: HostCandidate | undefined
  /** The locked packages that the store lacks or has damaged. */
  readonly missing: readonly string[]
  readonly restored: readonly Restorable[]
  /** Why the others could not be fetched. Nothing new is fetched then. */
  readonly failures: readonly unknown[]
  readonly downgrades: readonly Downgrade[]
}

export const nothingFetched = { modules: [], missing: [], restored: [], failures: [], downgrades: [] }

/** Fetches what the store lacks. */
export async function fetch(resolved: Resolved): Promise<Fetched> {
  const { input, target, locked, sources, external, staging } = resolved
  const { directory, terminal } = input
  if (external) await checkLockedBytes(directory, target)
  const missing = await terminal.during('Checking the store', () => missingInStore(directory, target, locked))
  if (input.kind === 'rollback') {
    await fetchPrevious(resolved, missing)
    return { ...resolved, ...nothingFetched, missing }
  }
  await checkLockedBytes(directory, target, missing)
  const npm = await npmOptions(directory, process.env, input.offline)
  const options = { directory: staging, npm }
  const restored: Restorable[] = []
  const failures: unknown[] = []
  for (const name of missing) {
    await terminal
      .during(`Fetching ${name}`, () => stageLocked(directory, target, [name], options))
      .then(
        (found) => restored.push(...found),
        (error) => failures.push(error),
      )
  }
  if (failures.length > 0) {
    if (external) throw failures[0]
    return { ...resolved, ...nothingFetched, missing, restored, failures }
  }
  const limit = ageLimit(
    (await readConfig(directory)).install.minAgeHours,
    input.allowNew === true,
    Object.values(resolved.previous.modules),
  )
  const hostSource = await unlessPinned(resolved, npm)
  const fresh = await stageAll(sources, hostSource, { ...options, limit }, terminal)
  const preferred = await preferKnown(resolved, fresh.modules, options)
  return {
    ...{ ...resolved, ...fresh, ...preferred, missing, failures },
    restored: [...restored, ...preferred.restored],
  }
}

/**
 * Fetches packages of an old generation that are no longer in the store. They were installed here
 * before, so they go straight back into the store.
 */
async function fetchPrevious(
  { input: { directory, dryRun }, target, back }: Resolved,
  missing: readonly string[],
): Promise<void> {
  if (missing.length === 0) return
  const to = back?.generation ?? target.generation
  if (dryRun) throw storeIncompleteForDryRun({ generation: to, missing: missing.join(', ') })
  try {
    const npm = await npmOptions(directory)
    await restorePackages(directory, await stageLocked(directory, target, missing, { directory, npm }))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw previousNotFetched(error, to, KEPT)
  }
}

/** Undefined if the host is exactly the pinned one, and the store has it. */
async function unlessPinned(
  { input, target: { host }, hostSource }: Resolved,
  npm: NpmOptions,
): Promise<Source | undefined> {
  if (hostSource === undefined || host === undefined) return hostSource
  const { integrity } = await fetchPackage(hostSource, npm)
  const isPinned = integrity === host.integrity && (await isStored(input.directory, host))
  return isPinned ? undefined : hostSource
}
