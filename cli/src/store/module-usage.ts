import { callRunningHost } from '@mortise/host'

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
}

/** By module, of all processes of the folder; undefined if no host runs. */
export async function moduleUsage(directory: string): Promise<Map<string, ModuleUsage> | undefined> {
  const families = await callRunningHost(directory, 'metrics')
  if (families === undefined) return undefined
  const samples = (name: string) => families.find((family) => family.name === name)?.samples ?? []
  const sum = (name: string, module: string, suffix?: string, status?: string) =>
    samples(name)
      .filter((sample) => sample.labels?.module === module && sample.suffix === suffix)
      .filter(({ labels }) => status === undefined || labels?.status === status)
      .reduce((total, { value }) => total + value, 0)
  const durations = 'mortise_request_duration_seconds'
  const serving = samples('mortise_module_requests_in_flight').flatMap(({ labels }) => labels?.module ?? [])
  return new Map(
    serving.map((module) => [
      module,
      {
        responses: sum(durations, module, '_count'),
        failures: sum(durations, module, '_count', '5xx'),
        seconds: Math.round(sum(durations, module, '_sum') * 1000) / 1000,
        inProgress: sum('mortise_module_requests_in_flight', module),
        connections: sum('mortise_module_handles', module),
      },
    ]),
  )
}
