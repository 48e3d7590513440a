import {
  type ApplicationState,
  callRunningHost,
  type LockFile,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/host'
import { currentGeneration, isExternalChange } from '../changes/current-generation.ts'

/** The state in the running host, or the expected one at the next start. */
export type InstalledState = Awaited<ReturnType<typeof installedStates>>['modules'][number]

/** `url` and `retainedPackages` are null if no host runs. */
export async function installedStates(directory: string) {
  const lock = await readLockFile(directory)
  const running = await callRunningHost(directory, 'state')
  const modules = await Promise.all(
    Object.entries(lock.modules).map(async ([id, locked]) => {
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

/** The number of `lock` in the history, or its own number if it is not recorded. */
async function presentGeneration(directory: string, lock: LockFile): Promise<number> {
  const present = await currentGeneration(directory)
  return present === undefined || isExternalChange(lock, present) ? lock.generation : present.generation
}

/** Whether a running host serves the modules of modules.lock.json. */
export async function isServed(directory: string): Promise<boolean> {
  const { generation } = await readLockFile(directory)
  return (await callRunningHost(directory, 'state'))?.generation === generation
}

/** The number of loaded packages that no module serves. Loaded code cannot be unloaded. */
export function retainedPackages({ loadedPackages, modules }: ApplicationState): number {
  return loadedPackages - modules.filter(({ state }) => state === 'active').length
}
