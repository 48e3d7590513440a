import type { Config } from '@mortise/application'
import {
  decisionAt,
  differenceOf,
  hashTree,
  isLoaded,
  type LockedModule,
  type LockFile,
  type ModulePackage,
  moduleSettings,
  readPackage,
  storedModule,
} from '@mortise/application'
import { currentTime } from '@mortise/module-sdk'
import { hostVersion, isInHostRange } from '../telemetry/version.ts'
import { inContractOrder } from './contract-registry.ts'
import { ModuleError, type RegisteredModule } from './host-module.ts'
import { loadPlugin } from './load-plugin.ts'

/** Finds why a module in a folder of the store must not be loaded. */
interface FindQuarantine {
  find(id: string, folder: string): { readonly reason: string; readonly since: string } | undefined
}

/** Store folders with a verified hash: they are immutable, so a process reads each only once. */
const verified = new Set<string>()

/**
 * Loads the modules of `lock` in contract order. A module that cannot be loaded becomes `failed`
 * with its reason; this function does not throw for it.
 */
export async function loadModules(
  config: Config,
  lock: LockFile,
  quarantine?: FindQuarantine,
): Promise<RegisteredModule[]> {
  const modules: RegisteredModule[] = []
  for (const [id, locked] of Object.entries(lock.modules))
    modules.push(await loadModule(config, id, locked, quarantine))
  return orderOrFail(modules)
}

async function loadModule(
  config: Config,
  id: string,
  locked: LockedModule,
  quarantine?: FindQuarantine,
): Promise<RegisteredModule> {
  const installed = { id, package: locked.package, version: locked.version }
  const decision = decisionAt(locked, currentTime())
  let found: ModulePackage | undefined
  try {
    const directory = storedModule(config.directory, locked)
    found = await readPackage(directory)
    const { manifest } = found
    if (!isLoaded(decision)) return { ...installed, manifest, ...decision }
    const entry = quarantine?.find(id, directory)
    if (entry !== undefined) {
      const { reason, since } = entry
      return { ...installed, manifest, state: 'quarantined', reason, since }
    }
    await verifyTree(id, directory, locked)
    const difference = differenceOf(locked, found)
    if (difference !== undefined) throw new ModuleError(id, `${difference}: restore modules.lock.json`)
    if (manifest.id !== id) throw new ModuleError(id, `the package in its place is "${manifest.id}"`)
    if (!isInHostRange(manifest.host)) {
      throw new ModuleError(
        id,
        `it needs a host ${manifest.host}, and this is ${hostVersion}: run "app module-upgrade ${id}" or "app host-upgrade"`,
      )
    }
    const settings = moduleSettings(config, id, found.settingsSchema)
    const plugin = await loadPlugin(id, directory)
    return { ...installed, manifest, ...decision, directory, settings, plugin }
  } catch (error) {
    const manifest = found?.manifest ?? { id, host: '*', routes: [] }
    if (!isLoaded(decision)) return { ...installed, manifest, ...decision }
    const failed = { ...installed, manifest, state: 'failed' } as const
    const { message } = error as Error
    if (found !== undefined) return { ...failed, reason: message }
    const reason = `its package in the store is missing or cannot be read: run "app module-install" (${message})`
    return { ...failed, reason, routesUnknown: true }
  }
}

async function verifyTree(id: string, directory: string, locked: LockedModule): Promise<void> {
  if (verified.has(directory)) return
  if ((await hashTree(directory)) !== locked.tree) {
    throw new ModuleError(
      id,
      `its files in the store have changed since the installation: run "app module-install" (${directory})`,
    )
  }
  verified.add(directory)
}

/** A module without a required contract fails, which may fail others in turn. */
function orderOrFail(modules: readonly RegisteredModule[]): RegisteredModule[] {
  const others = modules.filter((module) => !isLoaded(module))
  try {
    return [...inContractOrder(modules.filter(isLoaded)), ...others]
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error
    return orderOrFail(failModule(modules, error))
  }
}

/** The same modules, with the one that `error` names as failed. */
export function failModule(modules: readonly RegisteredModule[], error: ModuleError): RegisteredModule[] {
  return modules.map((module) => {
    if (module.id !== error.module) return module
    const { id, package: name, version, manifest } = module
    const unknown = module.state === 'failed' && module.routesUnknown && { routesUnknown: true as const }
    return { id, package: name, version, manifest, state: 'failed', reason: error.message, ...unknown }
  })
}
