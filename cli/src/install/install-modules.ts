import { Failure } from '../failure.ts'
import {
  type Config,
  type Lock,
  type LockedModule,
  type ModulePackage,
  moduleSettings,
  readConfig,
  readLock,
  storedModule,
} from '../host.ts'
import type { Terminal } from '../terminal.ts'
import { askAboutOrigins } from './ask-about-origins.ts'
import { type Candidate, stage } from './candidate.ts'
import { checkConflicts } from './checks/conflicts.ts'
import { checkContracts } from './checks/contracts.ts'
import { checkEntry } from './checks/entry.ts'
import { checkHostRange, checkPeers } from './checks/host-range.ts'
import { installedBeside, isInstalled, lockedModule } from './installed-packages.ts'
import { type NpmOptions, npmOptions } from './npm-options.ts'
import { type Plan, planOf, planText } from './plan.ts'
import { probeCandidates } from './probe-candidates.ts'
import { restoreStore, takeUpRestored } from './restore-store.ts'
import { isOwnFolder, resolveSpec, type Source } from './source.ts'
import { moveToStore } from './staging.ts'
import { type Switched, switchModules } from './switch-modules.ts'

export interface InstallRequest {
  readonly directory: string
  readonly specs: readonly string[]
  readonly terminal: Terminal
  /** Do not ask about an origin that was not seen before. */
  readonly yes: boolean
}

export interface Installed {
  /** Undefined where there was nothing to switch to. */
  readonly switched: Switched | undefined
  readonly generation: number
  readonly installed: readonly Plan[]
  readonly unchanged: readonly string[]
  /** What was missing or damaged in the store, and is there again. */
  readonly restored: readonly string[]
}

/**
 * Installs modules as one change: all of them or none. Run it while the application is locked.
 * @throws {Failure}
 */
export async function installModules({
  directory,
  specs,
  terminal,
  yes,
}: InstallRequest): Promise<Installed> {
  const lock = await readLock(directory)
  const config = await readConfig(directory)
  const npm = await npmOptions(directory)
  const lookup = { directory, cwd: process.cwd(), lock, aliases: config.aliases }
  const resolved = specs.map((spec) => resolveSpec(spec, lookup))
  const pinned = resolved.flatMap((found) => ('installed' in found ? [found.installed] : []))
  const sources = resolved.filter((found): found is Source => !('installed' in found))

  const restored = await terminal.during('Checking the store', () =>
    restoreStore(directory, lock, pinned, npm),
  )
  const candidates = await stageAll(sources, { directory, npm, terminal })
  const fresh: Candidate[] = []
  const unchanged = new Set(pinned)
  for (const candidate of candidates) {
    if (await isInstalled(candidate, lock, directory)) unchanged.add(candidate.package.manifest.id)
    else fresh.push(candidate)
  }
  const result = { unchanged: [...unchanged], restored }
  if (fresh.length === 0) {
    const switched = await takeUpRestored(directory, lock, restored)
    return { switched, generation: switched?.generation ?? lock.generation, installed: [], ...result }
  }

  const others = await installedBeside(fresh, lock, directory)
  check(fresh, others, config)
  const plans = await Promise.all(
    fresh.map((candidate) =>
      planOf(candidate, lockedModule(lock, candidate.package.manifest.id)?.version ?? null),
    ),
  )
  for (const plan of plans) terminal.note(planText(plan))
  await askAboutOrigins(fresh, lock, terminal, yes)

  const packages = fresh.map((candidate) => candidate.package)
  const own = new Set(
    fresh.filter(({ source }) => isOwnFolder(source)).map((candidate) => candidate.package.manifest.id),
  )
  await terminal.during('Probing', () => probeCandidates(config, others, packages, own))
  const entries = Object.fromEntries(
    fresh.map((candidate) => [candidate.package.manifest.id, entryOf(candidate, lock)]),
  )
  for (const candidate of fresh) {
    const entry = entries[candidate.package.manifest.id] as LockedModule
    await moveToStore(candidate.package.directory, storedModule(directory, entry), entry.tree)
  }
  const switched = await terminal.during('Switching', () =>
    switchModules(directory, lock, { ...lock.modules, ...entries }, entries),
  )
  return { ...result, switched, generation: switched.generation, installed: plans }
}

async function stageAll(
  sources: readonly Source[],
  { directory, npm, terminal }: { directory: string; npm: NpmOptions; terminal: Terminal },
): Promise<Candidate[]> {
  const candidates = new Map<string, Candidate>()
  for (const source of sources) {
    const candidate = await terminal.during(`Fetching ${source.target}`, () =>
      stage(source, { directory, npm }),
    )
    const { id } = candidate.package.manifest
    const former = candidates.get(id)
    if (former && former.integrity !== candidate.integrity) {
      throw new Failure(
        'usage',
        'usage',
        `The module ${id} is named twice: ${former.from} and ${candidate.from}.`,
        'Name it once.',
      )
    }
    candidates.set(id, candidate)
  }
  return [...candidates.values()]
}

function check(fresh: readonly Candidate[], others: readonly ModulePackage[], config: Config): void {
  const packages = fresh.map((candidate) => candidate.package)
  const all = [...others, ...packages]
  packages.forEach(checkHostRange)
  for (const { json } of fresh) checkPeers(json)
  fresh.forEach(checkEntry)
  checkContracts(all)
  checkConflicts(packages, all)
  for (const { manifest, settingsSchema } of packages) {
    try {
      moduleSettings(config, manifest.id, settingsSchema)
    } catch (error) {
      throw new Failure(
        'refused',
        'invalid-settings',
        `The module ${manifest.id} is refused: ${(error as Error).message}.`,
        'Correct the settings in app.config.json first.',
        { cause: error },
      )
    }
  }
}

function entryOf(candidate: Candidate, lock: Lock): LockedModule {
  const { name, version, manifest } = candidate.package
  return {
    package: name,
    version,
    spec: candidate.source.record(version),
    integrity: candidate.integrity,
    tree: candidate.tree,
    ...(candidate.dependencies && { dependencies: candidate.dependencies }),
    enabled: lockedModule(lock, manifest.id)?.enabled ?? true,
  }
}
