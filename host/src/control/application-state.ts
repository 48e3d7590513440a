import type { ModuleState } from '@mortise/application'
import type { Engine } from '@mortise/storage'

/** The state of a running application, for the `app` command. */
export interface ApplicationState {
  readonly pid: number
  readonly host: string
  readonly url: string
  /** Of the database at its start. */
  readonly engine: Engine
  /** Why the database refuses new connections while the host serves on the open ones; absent otherwise. */
  readonly refusedConnections?: string
  readonly generation: number
  /** Switches since the start. */
  readonly switches: number
  /** Packages loaded since the start; replaced ones stay in memory until the end. */
  readonly loadedPackages: number
  readonly modules: readonly {
    readonly id: string
    readonly version: string
    readonly state: ModuleState
    /** Of a failed one, or one in quarantine. */
    readonly reason?: string
    /** Of a paused one, if it has an end: RFC 3339, UTC. */
    readonly until?: string
    /** Of one in quarantine: RFC 3339, UTC. */
    readonly since?: string
  }[]
  /** The process that starts this host again when it ends; absent without one. */
  readonly supervisor?: number
  /** The hosts that serve, if `pid` is their supervisor. */
  readonly workers?: readonly { readonly pid: number; readonly host: string; readonly generation: number }[]
  /** The workers that do not respond now; absent if all do. */
  readonly silentWorkers?: readonly number[]
}

/**
 * The state of the hosts of one folder: the worst of each module, the oldest generation. `silent`
 * processes have no state.
 */
export function mergeStates(
  states: readonly [ApplicationState, ...ApplicationState[]],
  silent: readonly number[] = [],
): ApplicationState {
  const [first] = states
  const lowest = states.reduce((least, state) => (state.generation < least.generation ? state : least), first)
  const { supervisor, ...own } = lowest
  const { refusedConnections } = states.find((state) => state.refusedConnections !== undefined) ?? {}
  const common = { ...own, ...(refusedConnections !== undefined && { refusedConnections }) }
  if (supervisor === undefined) return common
  return {
    ...common,
    pid: supervisor,
    switches: Math.max(...states.map(({ switches }) => switches)),
    loadedPackages: Math.max(...states.map(({ loadedPackages }) => loadedPackages)),
    modules: lowest.modules.map((module) => worst(module.id, states) ?? module),
    workers: states.map(({ pid, host, generation }) => ({ pid, host, generation })),
    ...(silent.length > 0 && { silentWorkers: silent }),
  }
}

function worst(
  id: string,
  states: readonly ApplicationState[],
): ApplicationState['modules'][number] | undefined {
  const failed = states.flatMap(({ modules }) =>
    modules.filter(({ id: own, state }) => own === id && (state === 'failed' || state === 'quarantined')),
  )
  const [first] = failed
  if (first === undefined || failed.length === states.length) return first
  return { ...first, reason: `in ${failed.length} of ${states.length} processes: ${first.reason}` }
}
