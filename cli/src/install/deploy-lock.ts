import { isDeepStrictEqual } from 'node:util'
import type { Generation } from '@mortise/host'
import {
  type Config,
  emptyLock,
  type Lock,
  type LockedModule,
  type ModulePackage,
  readConfig,
  readLock,
  storedModule,
} from '@mortise/host'
import { cameFromOutside, changesFromOutside, inForce } from '../changes/in-force.ts'
import { lockedModule, readInstalled } from '../store/installed-packages.ts'
import { readPackageJson } from '../store/package-json.ts'
import { checkLockedBytes } from '../store/same-bytes.ts'
import { holds, measure, moveToStore } from '../store/staging.ts'
import { exitCodes, Failure } from '../terminal/failure.ts'
import { applyFromOutside } from './apply/apply-change.ts'
import { askAboutBreaking, refuseBreaking } from './consent/ask-about-breaking.ts'
import { askAboutOrigins } from './consent/ask-about-origins.ts'
import type { Candidate } from './fetch/candidate.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { missingInStore, restoreStore, stageLocked } from './fetch/restore-store.ts'
import { completePlan, type Installed, type InstallRequest, noteUnheardOf } from './install-modules.ts'
import { checkModules } from './plan/checks/check-modules.ts'
import { formerOf } from './plan/former.ts'
import { type Plan, planOf, planText } from './plan/module-plan.ts'
import { probeCandidates } from './probe/probe-candidates.ts'
import { tryHost } from './probe/try-host.ts'
import { hostThere } from './replace-host.ts'
import { resolveSpec } from './resolve/source.ts'
import { checkEntry } from './verify/entry.ts'
import { checkSignatureKept } from './verify/signature.ts'

/** A module that the lock brings, switches on or replaces: fetched just now, or from the store. */
type Fresh = Parameters<typeof planOf>[0] & {
  readonly locked: LockedModule
  /** Where it was fetched just now: it lies in staging still. */
  readonly staged?: Candidate
}

/**
 * Puts in force what modules.lock.json names, where that came from outside, by `git pull` say: planned, checked, probed,
 * and with a snapshot, like any other change. The file stays as it is, also where that fails.
 *
 * @param specs none, or names that the lock has
 * @returns undefined where the lock is in force, or `specs` ask for something else
 * @throws {Failure} what was in force still is
 */
export async function deployLock(
  request: InstallRequest,
  specs: readonly string[],
): Promise<Installed | undefined> {
  const { directory } = request
  const [lock, present] = [await readLock(directory), await inForce(directory)]
  if (!cameFromOutside(lock, present)) return undefined
  const { aliases } = await readConfig(directory)
  const lookup = { directory, cwd: process.cwd(), lock, aliases }
  if (!specs.every((spec) => 'installed' in resolveSpec(spec, lookup))) return undefined
  try {
    return await deploy(request, lock, present)
  } catch (error) {
    if (!(error instanceof Failure) || present === undefined) throw error
    const kind = error.exitCode === exitCodes.activation ? 'activation' : 'refused'
    if (error.exitCode !== exitCodes[kind]) throw error
    throw new Failure(
      kind,
      error.code,
      `${error.message} Generation ${present.generation} stays in force.`,
      `${error.hint} modules.lock.json is left as it is, and the next start would run it: restore the former file (git checkout), or go back with "app module-rollback".`,
      { cause: error },
    )
  }
}

async function deploy(
  request: InstallRequest,
  lock: Lock,
  present: Generation | undefined,
): Promise<Installed> {
  const { directory, command, terminal, yes, dryRun, offline } = request
  const former = present?.lock ?? emptyLock
  terminal.note(
    `modules.lock.json came from outside. Against ${present === undefined ? 'nothing installed' : `generation ${present.generation}`}: ${changesFromOutside(lock, present)}`,
  )
  await checkLockedBytes(directory, lock)
  const config = await readConfig(directory)
  const npm = await npmOptions(directory, process.env, offline)
  const isFresh = (id: string) =>
    lock.modules[id]?.enabled === true && !isDeepStrictEqual(lock.modules[id], lockedModule(former, id))
  const [freshIds, otherIds] = partition(Object.keys(lock.modules), isFresh)
  const beside = [...(lock.host ? ['host'] : []), ...otherIds]
  const restored = dryRun
    ? await missingInStore(directory, lock, beside)
    : await terminal.during('Checking the store', () => restoreStore(directory, lock, beside, npm))
  const fresh: Fresh[] = []
  for (const id of freshIds) {
    const found = await terminal.during(`Fetching ${id}`, () => freshModule(request, lock, id, npm))
    if (found.staged) checkSignatureKept(found.staged, lockedModule(former, id))
    fresh.push(found)
  }
  const staged = fresh.flatMap((module) => (module.staged ? [module.staged] : []))
  staged.forEach(checkEntry)
  const others = await serving(lock, otherIds, directory)
  checkModules(fresh, others, config, hostThere(lock, directory))

  const formers = await Promise.all(freshIds.map((id) => formerOf(id, former, directory)))
  const planned = await Promise.all(fresh.map((module, index) => planOf(module, formers[index])))
  for (const plan of planned) terminal.note(planText(plan))
  noteUnheardOf(planned, others, terminal)
  const outcome = {
    disabled: [],
    unchanged: otherIds.filter((id) => lockedModule(former, id) !== undefined && !restored.includes(id)),
    restored: [...restored, ...staged.map((candidate) => candidate.package.manifest.id)],
  }
  const generation = present?.generation ?? 0
  const fetchedIds = new Set(staged.map((candidate) => candidate.package.manifest.id))
  const fetchedOf = (plans: readonly Plan[]) => plans.filter(({ id }) => fetchedIds.has(id))
  if (dryRun)
    return { ...outcome, switched: undefined, generation, installed: planned, fetched: fetchedOf(planned) }

  await askAboutOrigins(staged, Object.values(former.modules), terminal, yes)
  const replaced = formers.flatMap((found) => (found?.enabled && found.package ? [found.package] : []))
  const plans = await terminal.during('Probing', () =>
    probeLock(request, config, { lock, former, others, fresh, replaced, planned }),
  )
  if (request.failOnBreaking) refuseBreaking(plans)
  await askAboutBreaking(plans, terminal, yes)
  for (const { staged, locked } of fresh)
    if (staged) await moveToStore(staged.package.directory, storedModule(directory, locked), locked.tree)
  const switched = await terminal.during('Switching', () => applyFromOutside(directory, command, lock))
  return {
    ...outcome,
    switched,
    generation: switched.generation,
    installed: plans,
    fetched: fetchedOf(plans),
  }
}

async function freshModule(
  { directory, staging }: InstallRequest,
  lock: Lock,
  id: string,
  npm: Parameters<typeof restoreStore>[3],
): Promise<Fresh> {
  const locked = lock.modules[id] as LockedModule
  if (!(await holds(storedModule(directory, locked), locked.tree))) {
    const [found] = await stageLocked(directory, lock, [id], { directory: staging, npm })
    const staged = found?.module as Candidate
    return { ...staged, locked, staged }
  }
  const { integrity, tree, spec, signed } = locked
  const found = await readInstalled(id, locked, directory)
  const json = await readPackageJson(found.directory)
  return {
    ...{ package: found, json, from: spec, integrity, tree, signed, locked },
    ...(await measure(found.directory)),
  }
}

async function serving(lock: Lock, ids: readonly string[], directory: string): Promise<ModulePackage[]> {
  const enabled = ids.filter((id) => lock.modules[id]?.enabled)
  return await Promise.all(
    enabled.map((id) => readInstalled(id, lock.modules[id] as LockedModule, directory)),
  )
}

interface ProbedLock {
  readonly lock: Lock
  readonly former: Lock
  readonly others: readonly ModulePackage[]
  readonly fresh: readonly Fresh[]
  readonly replaced: readonly ModulePackage[]
  readonly planned: readonly Plan[]
}

/** @returns the plans, with what the probe has found */
async function probeLock(
  { directory, terminal }: InstallRequest,
  config: Config,
  { lock, former, others, fresh, replaced, planned }: ProbedLock,
): Promise<readonly Plan[]> {
  const packages = fresh.map((module) => module.package)
  if (lock.host && !isDeepStrictEqual(lock.host, former.host)) {
    await tryHost(hostThere(lock, directory), directory, [...others, ...packages])
    return planned
  }
  if (fresh.length === 0) return planned
  const probed = await probeCandidates(config, others, packages, replaced)
  return planned.map((plan) => completePlan(plan, replaced, probed, terminal))
}

function partition<Item>(items: readonly Item[], belongs: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(belongs), items.filter((item) => !belongs(item))]
}
