import {
  decisionAt,
  isLoaded,
  type LockFile,
  type ModuleState,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/application'
import { type ApplicationState, callRunningHost, readPresentQuarantine } from '@mortise/host'
import { currentGeneration, isExternalChange } from '../changes/current-generation.ts'

/** The state in the running host, or the expected one at the next start. */
export type InstalledState = Awaited<ReturnType<typeof installedStates>>['modules'][number]

/** For people: `failed: its settings are invalid`. */
export function stateText({
  state,
  reason,
  until,
}: Pick<InstalledState, 'state' | 'reason' | 'until'>): string {
  if (reason !== null) return `${state}: ${reason}`
  return until === null ? state : `${state} until ${until}`
}

/** `url` and `retainedPackages` are null if no host runs. */
export async function installedStates(directory: string) {
  const lock = await readLockFile(directory)
  const running = await callRunningHost(directory, 'state')
  const quarantine = await readPresentQuarantine(directory, lock)
  const modules = await Promise.all(
    Object.entries(lock.modules).map(async ([id, locked]) => {
      const { package: name, version } = locked
      const decision = decisionAt(locked, Date.now())
      const stored = await readPackage(storedModule(directory, locked)).catch((error: Error) => error)
      const unreadable = stored instanceof Error ? `${stored.message}: run "app module-install"` : null
      const live = running?.modules.find((module) => module.id === id && module.version === version)
      const entry = Object.hasOwn(quarantine, id) ? quarantine[id] : undefined
      const unable = unreadable === null ? 'quarantined' : 'failed'
      const expected =
        isLoaded(decision) && (unreadable !== null || entry !== undefined)
          ? ({ state: unable } as const)
          : decision
      const { state, until = null } = live ?? { until: undefined, ...expected }
      return {
        id,
        package: name,
        version,
        state,
        reason: reasonOf(state, live?.reason ?? unreadable ?? entry?.reason),
        /** The end of a pause, if it has one. */
        until,
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

const reasonOf = (state: ModuleState, reason: string | undefined) =>
  state === 'failed' || state === 'quarantined' ? (reason ?? null) : null

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
  return loadedPackages - modules.filter(isLoaded).length
}
