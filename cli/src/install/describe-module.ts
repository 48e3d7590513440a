import { emptyLockFile, inTemporaryFolder, type LockedModule, readConfig, readLockFile } from '@mortise/host'
import { moduleNotInstalled } from '../failures/index.ts'
import { installedId } from '../store/installed-packages.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { stage } from './fetch/candidate.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { changeApplication } from './pipeline.ts'
import { type Plan, planOf } from './plan/module-plan.ts'
import { installedAccess } from './probe/installed-access.ts'
import { indexedPackage } from './resolve/module-index.ts'
import { resolveSpec, type Source } from './resolve/source.ts'
import { fromStore } from './verify/verify.ts'

/** Everything known about a module without running it. */
export interface ModuleDescription extends Plan {
  readonly installed: boolean
  /** The source in the lock file, or the one that an installation would record. */
  readonly spec: string
  readonly manifest: unknown
}

/**
 * Describes an installed module by id or package name, or fetches and describes the package of a
 * spec. A bare name that is not installed gives no description.
 */
export async function describeModule(
  directory: string,
  text: string,
  terminal: Terminal,
): Promise<ModuleDescription> {
  const lock = await readLockFile(directory)
  const id = installedId(lock, text)
  const locked = id === undefined ? undefined : lock.modules[id]
  if (id !== undefined && locked) return await describeInstalled(directory, id, locked)
  const { aliases } = await readConfig(directory)
  const resolved = resolveSpec(text, { directory, cwd: process.cwd(), lock, aliases })
  if ('installed' in resolved) {
    return await describeInstalled(
      directory,
      resolved.installed,
      lock.modules[resolved.installed] as LockedModule,
    )
  }
  if (isBare(text)) {
    throw moduleNotInstalled({ name: text, source: indexedPackage(text) ?? aliases[text] ?? text })
  }
  return await changeApplication(directory, `module-info ${text}`, terminal, () =>
    describeSource(resolved, directory, terminal),
  )
}

/**
 * Describes the package of a spec without an application. Paths in the spec are relative to the
 * working directory.
 */
export async function describeElsewhere(text: string, terminal: Terminal): Promise<ModuleDescription> {
  const cwd = process.cwd()
  const source = resolveSpec(text, { directory: cwd, cwd, lock: emptyLockFile, aliases: {} }) as Source
  return await inTemporaryFolder(undefined, (folder) => describeSource(source, folder, terminal))
}

/** @param directory the folder for staging */
async function describeSource(
  source: Source,
  directory: string,
  terminal: Terminal,
): Promise<ModuleDescription> {
  const npm = await npmOptions(directory)
  const candidate = await terminal.during(`Fetching ${source.target}`, () =>
    stage(source, { directory, npm }),
  )
  const { manifest, version } = candidate.package
  return { ...(await planOf(candidate)), installed: false, spec: source.record(version), manifest }
}

const isBare = (text: string) => /^[a-z0-9-]+$/.test(text)

async function describeInstalled(
  directory: string,
  id: string,
  locked: LockedModule,
): Promise<ModuleDescription> {
  const stored = await fromStore(id, locked, directory)
  const plan = await planOf(stored)
  const access = await installedAccess(directory, id)
  const dependencies = plan.dependencies.map((dependency) => ({ ...dependency, change: null }))
  const { manifest } = stored.package
  return { ...plan, access, dependencies, installed: true, spec: locked.spec, manifest }
}
