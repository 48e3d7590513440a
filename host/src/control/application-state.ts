import type { Engine } from '@mortise/storage'
import type { RegisteredModule } from '../modules/host-module.ts'

/** What runs, for the `app` command. */
export interface ApplicationState {
  readonly pid: number
  /** The version of the host. */
  readonly host: string
  readonly url: string
  /** Of the database that it began with. */
  readonly engine: Engine
  readonly generation: number
  /** How often another generation has taken over since the start. */
  readonly switches: number
  /** Packages whose code was loaded since the start; that of replaced ones stays in memory until the end. */
  readonly loadedPackages: number
  readonly modules: readonly {
    readonly id: string
    readonly version: string
    readonly state: RegisteredModule['state']
    readonly reason?: string
  }[]
  /** The processes that serve, where `pid` is their parent; absent where one serves alone. */
  readonly workers?: readonly { readonly pid: number; readonly host: string; readonly generation: number }[]
  /** Those that do not answer now; absent where all do. */
  readonly silentWorkers?: readonly number[]
}

/**
 * The state of an application that several processes serve: what is worst of each module, the oldest generation.
 * @param states one at least
 * @param silent the processes that have none, since they do not answer
 */
export function mergeStates(
  states: readonly ApplicationState[],
  silent: readonly number[] = [],
): ApplicationState {
  const [first] = states as [ApplicationState]
  const lowest = states.reduce((least, state) => (state.generation < least.generation ? state : least), first)
  return {
    ...lowest,
    pid: process.pid,
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
    modules.filter((module) => module.id === id && module.state === 'failed'),
  )
  const [first] = failed
  if (first === undefined || failed.length === states.length) return first
  return { ...first, reason: `in ${failed.length} of ${states.length} processes: ${first.reason}` }
}
