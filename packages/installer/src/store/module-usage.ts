import { callRunningHost, type Measured } from '@mortise/host'

/** What takes a main thread: of all processes of the folder together, so 2 workers have 2 cores at most. */
export interface Taken {
  /** 1 is a whole core. */
  readonly cpu: number
  /** Bytes of the heap per second, garbage included; null if no process could count them. */
  readonly allocated: number | null
}

/** What was measured for the command. */
export interface Measurement {
  readonly seconds: number
  readonly processes: number
  /** Outside of a call by a module. */
  readonly host: Taken
  /** In the unit of `cpu`. All modules, the host and this together are `processes`. */
  readonly idle: number
  /** A part of all these. */
  readonly garbageCollection: number
}

/** What a module has used since the start of the host, and uses now. */
export interface ModuleUsage {
  /** Responses of its routes. */
  readonly responses: number
  /** Those of them with 5xx. */
  readonly failures: number
  /** The durations of these requests together, waits included. */
  readonly seconds: number
  /** Requests of its routes in progress. */
  readonly inProgress: number
  /** Open connections that it has made. */
  readonly connections: number
  /** Measured for the command; null if that is impossible. */
  readonly cpu: number | null
  readonly allocated: number | null
}

/**
 * By module, of all processes of the folder, after two seconds; undefined if no host runs. `measured` is
 * null if a debugger is attached to each.
 */
export async function moduleUsage(
  directory: string,
): Promise<{ byId: Map<string, ModuleUsage>; measured: Measurement | null } | undefined> {
  const processes = await callRunningHost(directory, 'measure')
  const families = await callRunningHost(directory, 'metrics')
  if (processes === undefined || families === undefined) return undefined
  const samples = (name: string) => families.find((family) => family.name === name)?.samples ?? []
  const sum = (name: string, module: string, suffix?: string, status?: string) =>
    samples(name)
      .filter((sample) => sample.labels?.module === module && sample.suffix === suffix)
      .filter(({ labels }) => status === undefined || labels?.status === status)
      .reduce((total, { value }) => total + value, 0)
  const durations = 'mortise_request_duration_seconds'
  const serving = samples('mortise_module_requests_in_flight').flatMap(({ labels }) => labels?.module ?? [])
  const byId = new Map(
    serving.map((module): [string, ModuleUsage] => [
      module,
      {
        responses: sum(durations, module, '_count'),
        failures: sum(durations, module, '_count', '5xx'),
        seconds: Math.round(sum(durations, module, '_sum') * 1000) / 1000,
        inProgress: sum('mortise_module_requests_in_flight', module),
        connections: sum('mortise_module_handles', module),
        ...(processes.length === 0
          ? { cpu: null, allocated: null }
          : together(processes.flatMap(({ modules }) => modules[module] ?? []))),
      },
    ]),
  )
  return { byId, measured: processes.length === 0 ? null : measurement(processes) }
}

function measurement(processes: readonly Measured[]): Measurement {
  const sum = (name: 'garbageCollection' | 'idle') =>
    rounded(processes.reduce((total, { [name]: part }) => total + part, 0))
  return {
    seconds: rounded(Math.max(...processes.map(({ seconds }) => seconds))),
    processes: processes.length,
    host: together(processes.map(({ host }) => host)),
    idle: sum('idle'),
    garbageCollection: sum('garbageCollection'),
  }
}

function together(parts: readonly Taken[]): Taken {
  const counted = parts.flatMap(({ allocated }) => allocated ?? [])
  return {
    cpu: rounded(parts.reduce((total, { cpu }) => total + cpu, 0)),
    allocated: counted.length === 0 ? null : Math.round(counted.reduce((total, bytes) => total + bytes, 0)),
  }
}

const rounded = (value: number) => Math.round(value * 1000) / 1000
