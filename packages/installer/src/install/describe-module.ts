import {
  ConfigError,
  emptyLockFile,
  foldersToLoad,
  inTemporaryFolder,
  type LockedModule,
  readConfig,
  readLockFile,
} from '@mortise/application'
import { callRunningHost, ModuleError, probe } from '@mortise/host'
import type { Reporter } from '../reporting/reporter.ts'
import { installedId } from '../store/installed-packages.ts'
import { type InstalledState, installedStates } from '../store/installed-state.ts'
import { stage } from './fetch/candidate.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { planOf } from './plan/module-plan.ts'
import { resolveSpec, type Source } from './resolve/source.ts'
import { fromStore } from './verify/verify.ts'

/**
 * Describes an installed module by id or package name, or fetches and describes the package of a
 * spec.
 */
export async function describeModule(directory: string, text: string, terminal: Reporter) {
  const lock = await readLockFile(directory)
  const id = installedId(lock, text)
  const locked = id === undefined ? undefined : lock.modules[id]
  if (id !== undefined && locked) return await describeInstalled(directory, id, locked)
  const { aliases } = await readConfig(directory)
  const resolved = resolveSpec(text, { directory, cwd: process.cwd(), lock, aliases })
  if ('installed' in resolved) {
    const installed = lock.modules[resolved.installed] as LockedModule
    return await describeInstalled(directory, resolved.installed, installed)
  }
  return await describeSource(resolved, directory, terminal)
}

/**
 * Describes the package of a spec without an application. Paths in the spec are relative to the
 * working directory.
 */
export async function describeElsewhere(text: string, terminal: Reporter) {
  const cwd = process.cwd()
  const source = resolveSpec(text, { directory: cwd, cwd, lock: emptyLockFile, aliases: {} }) as Source
  return await describeSource(source, undefined, terminal)
}

/**
 * Takes no lock: it reads an application's settings of registries, if there is one, and writes elsewhere.
 * @returns `spec`: what an installation would record
 */
const describeSource = (source: Source, application: string | undefined, terminal: Reporter) =>
  inTemporaryFolder(application, async (directory) => {
    const npm = await npmOptions(application ?? directory)
    const candidate = await terminal.during(`Fetching ${source.target}`, () =>
      stage(source, { directory, npm }),
    )
    const { manifest, version } = candidate.package
    const absent = { installed: false, state: null, reason: null, until: null }
    return { ...(await planOf(candidate)), ...absent, spec: source.record(version), manifest }
  })

async function describeInstalled(directory: string, id: string, locked: LockedModule) {
  const stored = await fromStore(id, locked, directory)
  const plan = await planOf(stored)
  const access = await installedAccess(directory, id)
  const dependencies = plan.dependencies.map((dependency) => ({ ...dependency, change: null }))
  const { manifest } = stored.package
  const { state, reason, until } = await stateOf(directory, id)
  const effective = { installed: true, state, reason, until }
  return { ...plan, access, dependencies, ...effective, spec: locked.spec, manifest }
}

async function stateOf(
  directory: string,
  id: string,
): Promise<Pick<InstalledState, 'state' | 'reason' | 'until'>> {
  const { modules } = await installedStates(directory)
  return modules.find((module) => module.id === id) as InstalledState
}

/** The access to its routes, as the running host or a probe says; null if the module is disabled or cannot be loaded, or the configuration is wrong */
async function installedAccess(
  directory: string,
  id: string,
): Promise<Readonly<Record<string, string>> | null> {
  const served = await callRunningHost(directory, 'access')
  if (served?.[id] !== undefined) return served[id]
  let probed = foldersToLoad(directory, await readLockFile(directory))
  while (probed.some((one) => one.id === id)) {
    try {
      return (await probe(await readConfig(directory), probed)).access[id] ?? null
    } catch (error) {
      if (error instanceof ConfigError) return null
      if (!(error instanceof ModuleError)) throw error
      // A failure of another module does not matter.
      const rest = probed.filter((one) => one.id !== error.module)
      if (rest.length === probed.length) return null
      probed = rest
    }
  }
  return null
}
