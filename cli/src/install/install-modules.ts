import {
  type Lock,
  type LockedModule,
  lockedPackages,
  type ModulePackage,
  readConfig,
  readLock,
  storedModule,
} from '@mortise/host'
import { assertInForce, inForce } from '../changes/in-force.ts'
import { lockedModule } from '../store/installed-packages.ts'
import { checkLockedBytes, checkSameBytes } from '../store/same-bytes.ts'
import { moveToStore } from '../store/staging.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { applyChange, type Switched } from './apply/apply-change.ts'
import { takeUpRestored } from './apply/take-up-restored.ts'
import { askAboutBreaking, refuseBreaking } from './consent/ask-about-breaking.ts'
import { askAboutOrigins } from './consent/ask-about-origins.ts'
import type { Candidate } from './fetch/candidate.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { missingInStore, putBack, type Restorable, stageLocked } from './fetch/restore-store.ts'
import { stageAll } from './fetch/stage-all.ts'
import { lockedHost } from './fetch/stage-host.ts'
import type { Staged } from './fetch/stage-package.ts'
import { apiChanges } from './plan/breaking/api-changes.ts'
import { checkModules } from './plan/checks/check-modules.ts'
import { formerOf } from './plan/former.ts'
import { type HostPlan, hostPlanOf, hostPlanText } from './plan/host-plan.ts'
import { type Plan, planOf, planText, probedText } from './plan/module-plan.ts'
import { planRestoring } from './plan/plan-restoring.ts'
import { type ProbedChange, probeCandidates } from './probe/probe-candidates.ts'
import { tryHost } from './probe/try-host.ts'
import { freshHost, hostThere, isPinnedAlready, leavingFor } from './replace-host.ts'
import { isOwnFolder, resolveSpec, type Source } from './resolve/source.ts'
import { checkEntry } from './verify/entry.ts'
import { installedBeside, isInstalled } from './verify/installed.ts'
import { checkSignatureKept } from './verify/signature.ts'

export interface InstallRequest {
  readonly directory: string
  /** As it was called, for the history. */
  readonly command: string
  readonly terminal: Terminal
  /** Do not ask about an origin that was not seen before. */
  readonly yes: boolean
  /** Stop after the plan, with nothing changed. */
  readonly dryRun: boolean
  /** In whose store packages are staged: the application's, or that of a folder which is gone after a dry run. */
  readonly staging: string
  /** No network: folders, files, bundles, directories of tarballs, and npm's cache. */
  readonly offline?: boolean
  /** Refuse what breaks callers or other modules, instead of asking. */
  readonly failOnBreaking?: boolean
  /** Switch off, in the same change, modules that do not run on the host that it brings. */
  readonly disableIncompatible?: boolean
}

export interface Installed {
  /** Undefined where there was nothing to switch to. */
  readonly switched: Switched | undefined
  readonly generation: number
  /** What was installed; on a dry run what would be. */
  readonly installed: readonly Plan[]
  /** The ids of those of them that stay switched off. */
  readonly disabled: readonly string[]
  /** The host that takes over, where it is another one; on a dry run the one that would. */
  readonly host?: HostPlan | undefined
  readonly unchanged: readonly string[]
  /** What was missing or damaged in the store, and is there again; on a dry run what would be. */
  readonly restored: readonly string[]
  /** The plans of the modules among them. */
  readonly fetched: readonly Plan[]
}

/**
 * Installs modules as one change: all of them or none. Without specs, brings the store in line with the lock.
 * Run it while the application is locked.
 * @throws {Failure}
 */
export async function installModules(request: InstallRequest, specs: readonly string[]): Promise<Installed> {
  const { directory, terminal, dryRun } = request
  const lock = await readLock(directory)
  const { aliases } = await readConfig(directory)
  const lookup = { directory, cwd: process.cwd(), lock, aliases }
  const resolved = specs.map((spec) => resolveSpec(spec, lookup))
  const named = resolved.flatMap((found) => ('installed' in found ? [found.installed] : []))
  const pinned = specs.length === 0 ? [...lockedPackages(lock).keys()] : named
  const sources = resolved.filter((found): found is Source => !('installed' in found))
  const restored = await terminal.during('Checking the store', () => missingInStore(directory, lock, pinned))
  const fetched = await restore(request, lock, restored)
  const outcome = await installSources(request, lock, sources)
  const sound = pinned.filter((id) => !restored.includes(id))
  const unchanged = [...new Set([...sound, ...outcome.unchanged])]
  if (dryRun || outcome.installed.length > 0 || outcome.host) {
    return { ...outcome, unchanged, restored, fetched }
  }
  const live = await takeUpRestored(directory, restored)
  const { generation } = outcome
  const switched = live === undefined ? undefined : { generation, live, migrations: [] }
  return { ...outcome, switched, unchanged, restored, fetched }
}

/**
 * Fetches what is missing in the store, prints it, and puts it there once that was agreed to.
 * @throws {Failure} the first; the others are there then
 */
async function restore(
  { directory, staging, terminal, yes, dryRun, offline }: InstallRequest,
  lock: Lock,
  missing: readonly string[],
): Promise<readonly Plan[]> {
  if (missing.length === 0) return []
  await checkLockedBytes(directory, lock, missing)
  const npm = await npmOptions(directory, process.env, offline)
  const staged: Restorable[] = []
  const failures: unknown[] = []
  await terminal.during('Fetching what the store misses', async () => {
    for (const name of missing) {
      await stageLocked(directory, lock, [name], { directory: staging, npm }).then(
        (found) => staged.push(...found),
        (error) => failures.push(error),
      )
    }
  })
  const plans = await planRestoring(directory, staged, terminal, !yes && !dryRun)
  if (!dryRun) await putBack(directory, staged)
  if (failures.length > 0) throw failures[0]
  return plans
}

/**
 * Installs what `sources` hold now, instead of what is installed of the same modules.
 * @param hostSource the host that is to take over
 * @throws {Failure}
 */
export async function installSources(
  request: InstallRequest,
  lock: Lock,
  sources: readonly Source[],
  hostSource?: Source,
): Promise<Installed> {
  const { directory, command, terminal, yes, dryRun, staging, offline } = request
  const { disableIncompatible, failOnBreaking = false } = request
  await assertInForce(directory)
  const config = await readConfig(directory)
  const npm = await npmOptions(directory, process.env, offline)
  const isPinned = hostSource !== undefined && (await isPinnedAlready(hostSource, lock, directory, npm))
  const newHost = isPinned ? undefined : hostSource
  const staged = await stageAll(sources, newHost, { directory: staging, npm }, terminal)
  const fresh: Candidate[] = []
  const unchanged: string[] = []
  for (const candidate of staged.modules) {
    const { id } = candidate.package.manifest
    checkSignatureKept(candidate, lockedModule(lock, id))
    if (await isInstalled(candidate, lock, directory)) unchanged.push(id)
    else fresh.push(candidate)
  }
  const host = await freshHost(staged.host, lock, directory)
  const arriving = [...fresh, ...(host ? [host] : [])]
  await checkSameBytes(directory, arriving.map(bytesOf))
  const present = (await inForce(directory))?.generation ?? lock.generation
  const nothing = {
    switched: undefined,
    generation: present,
    disabled: [],
    unchanged,
    restored: [],
    fetched: [],
  }
  if (fresh.length === 0 && host === undefined) return { ...nothing, installed: [] }

  const beside = await installedBeside(fresh, lock, directory)
  const hostPlan = host && (await hostPlanOf(host, lock, directory, beside))
  if (hostPlan) terminal.note(hostPlanText(hostPlan))
  const leaving = hostPlan ? await leavingFor(hostPlan, lock, directory, disableIncompatible) : []
  const others = beside.filter(({ manifest }) => !leaving.includes(manifest.id))
  fresh.forEach(checkEntry)
  // One that is switched off is checked and probed when it is switched on.
  const serving = fresh.filter((candidate) => entryOf(candidate, lock).enabled)
  checkModules(serving, others, config, host?.package ?? hostThere(lock, directory))
  const formers = await Promise.all(
    fresh.map((candidate) => formerOf(candidate.package.manifest.id, lock, directory)),
  )
  const planned = await Promise.all(fresh.map((candidate, index) => planOf(candidate, formers[index])))
  for (const plan of planned) terminal.note(planText(plan))
  noteUnheardOf(planned, beside, terminal)
  if (failOnBreaking) refuseBreaking(planned)
  if (dryRun) return { ...nothing, installed: planned, host: hostPlan }
  await askAboutOrigins(fresh, Object.values(lock.modules), terminal, yes)

  const packages = serving.map((candidate) => candidate.package)
  const own = new Set(
    fresh.filter(({ source }) => isOwnFolder(source)).map((candidate) => candidate.package.manifest.id),
  )
  const replaced = formers.flatMap((former) => (former?.enabled && former.package ? [former.package] : []))
  const probed = await terminal.during<ProbedChange | undefined>('Probing', () =>
    host
      ? tryHost(host.package, directory, [...others, ...packages])
      : probeCandidates(config, others, packages, replaced, own),
  )
  const plans = probed ? planned.map((plan) => completePlan(plan, replaced, probed, terminal)) : planned
  if (failOnBreaking) refuseBreaking(plans)
  await askAboutBreaking(plans, terminal, yes)
  const entries = Object.fromEntries(
    fresh.map((candidate) => [candidate.package.manifest.id, entryOf(candidate, lock)]),
  )
  for (const candidate of fresh) {
    const entry = entries[candidate.package.manifest.id] as LockedModule
    await moveToStore(candidate.package.directory, storedModule(directory, entry), entry.tree)
  }
  if (host) await moveToStore(host.package.directory, storedModule(directory, lockedHost(host)), host.tree)
  const off = leaving.map((id) => [id, { ...(lock.modules[id] as LockedModule), enabled: false }])
  const modules = { ...lock.modules, ...Object.fromEntries(off), ...entries }
  const switched = await terminal.during('Switching', () =>
    applyChange({ directory, command, former: lock, modules, ...(host && { host: lockedHost(host) }) }),
  )
  const disabled = Object.keys(entries).filter((id) => entries[id]?.enabled === false)
  const { generation } = switched
  return { ...nothing, switched, generation, installed: plans, disabled, host: hostPlan }
}

/** An event that nothing emits is no mistake for certain: the module that does may be still to come. */
export function noteUnheardOf(
  planned: readonly Plan[],
  beside: readonly ModulePackage[],
  terminal: Terminal,
): void {
  const manifests = beside.map(({ manifest }) => manifest)
  const emitted = new Set([...planned, ...manifests].flatMap(({ events = [] }) => events))
  for (const { id, listensTo } of planned) {
    const unknown = listensTo.filter((type) => type !== '*' && !emitted.has(type))
    if (unknown.length === 0) continue
    terminal.note(
      `${id} listens to ${unknown.join(', ')}, which no module here emits: is one still to come, or is it misspelt?`,
    )
  }
}

/** The plan with what the probe has found, which is said. */
export function completePlan(
  plan: Plan,
  replaced: readonly ModulePackage[],
  { former, next }: ProbedChange,
  terminal: Terminal,
): Plan {
  const before = replaced.find(({ manifest }) => manifest.id === plan.id)
  const found = before && former ? apiChanges(before.manifest, former, next) : []
  const access = next.access[plan.id] ?? {}
  const complete = { ...plan, access, breaking: [...plan.breaking, ...found] }
  terminal.note(probedText(complete, found))
  return complete
}

const bytesOf = ({ json, ...staged }: Staged<unknown>) => ({
  ...staged,
  package: json.name,
  version: json.version,
})

function entryOf(candidate: Candidate, lock: Lock): LockedModule {
  const { name, version, manifest } = candidate.package
  return {
    package: name,
    version,
    spec: candidate.source.record(version),
    integrity: candidate.integrity,
    tree: candidate.tree,
    ...(candidate.dependencies && { dependencies: candidate.dependencies }),
    ...(candidate.signed && { signed: candidate.signed }),
    enabled: lockedModule(lock, manifest.id)?.enabled ?? candidate.enabled ?? true,
  }
}
