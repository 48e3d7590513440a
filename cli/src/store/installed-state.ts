import {
  type ApplicationState,
  callRunningHost,
  type Lock,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/host'
import { inForce, isExternalChange } from '../changes/current-generation.ts'

/** An installed module, as the running host has it, or as it would be tried at the next start. */
export interface InstalledState {
  readonly id: string
  readonly package: string
  readonly version: string
  readonly state: 'active' | 'disabled' | 'failed'
  /** Why it failed. */
  readonly reason: string | null
  readonly routes: readonly string[]
}

export interface InstalledStates {
  /** Where the running host serves; null where none runs. */
  readonly url: string | null
  readonly generation: number
  /** How many packages stay in the memory of the running host that it no longer serves; null where none runs. */
  readonly retainedPackages: number | null
  readonly modules: readonly InstalledState[]
}

export async function installedStates(directory: string): Promise<InstalledStates> {
  const lock = await readLockFile(directory)
  const running = await callRunningHost(directory, 'state')
  const modules = await Promise.all(
    Object.entries(lock.modules).map(async ([id, locked]): Promise<InstalledState> => {
      const { package: name, version, enabled } = locked
      const stored = await readPackage(storedModule(directory, locked)).catch((error: Error) => error)
      const unreadable = stored instanceof Error ? `${stored.message}: run "app module-install"` : null
      const live = running?.modules.find((module) => module.id === id && module.version === version)
      const state = live?.state ?? (!enabled ? 'disabled' : unreadable === null ? 'active' : 'failed')
      return {
        id,
        package: name,
        version,
        state,
        reason: state === 'failed' ? (live?.reason ?? unreadable) : null,
        routes: stored instanceof Error ? [] : stored.manifest.routes,
      }
    }),
  )
  const isBehind = running !== undefined && running.generation !== lock.generation
  return {
    url: running?.url ?? null,
    generation: isBehind ? running.generation : await presentGeneration(directory, lock),
    retainedPackages: running ? retainedPackages(running) : null,
    modules,
  }
}

/** The number that the history has for `lock`; its own where it is not on record. */
async function presentGeneration(directory: string, lock: Lock): Promise<number> {
  const present = await inForce(directory)
  return present === undefined || isExternalChange(lock, present) ? lock.generation : present.generation
}

/** Whether a running host serves what modules.lock.json names. */
export async function isServed(directory: string): Promise<boolean> {
  const { generation } = await readLockFile(directory)
  return (await callRunningHost(directory, 'state'))?.generation === generation
}

/** How many packages a running host keeps in memory that it no longer serves: code cannot be unloaded. */
export function retainedPackages({ loadedPackages, modules }: ApplicationState): number {
  return loadedPackages - modules.filter(({ state }) => state === 'active').length
}
