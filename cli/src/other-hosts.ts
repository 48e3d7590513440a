import { stillServed } from './failures/index.ts'
import {
  type ApplicationState,
  callRunningHost,
  differences,
  nameOfHost,
  otherHosts,
  type ServingHost,
} from './host.ts'

/** Another host of the same database that serves something else than the one that runs here. */
export interface DifferingHost
  extends Pick<ServingHost, 'machine' | 'pid' | 'url' | 'version' | 'generation'> {
  /** In words, one for each module: `api-cart 1.0.0 (here 1.1.0)`. */
  readonly differences: readonly string[]
}

/** Empty where all serve alike, or no host runs here. */
export async function differingHosts(directory: string): Promise<DifferingHost[]> {
  const answer = await callRunningHost(directory, { method: 'GET', path: '/hosts' })
  // An older host knows nothing of others; one that cannot reach the database has said so elsewhere.
  if (answer?.status !== 200) return []
  const { self, others } = answer.body as { self: ServingHost; others: ServingHost[] }
  return others.flatMap((other) => {
    const { machine, pid, url, version, generation } = other
    const found = differences(self, other)
    return found.length === 0 ? [] : [{ machine, pid, url, version, generation, differences: found }]
  })
}

/**
 * @param modules ids of what is about to be removed here, with its data
 * @throws {Failure} where another host of the database serves one of them
 */
export async function assertServedNowhereElse(directory: string, modules: readonly string[]): Promise<void> {
  for (const host of await hostsElsewhere(directory)) {
    const id = modules.find((id) => host.modules[id]?.state === 'active')
    if (id === undefined) continue
    throw stillServed({ id, host: nameOfHost(host) })
  }
}

/** The hosts of the database, the processes of the one that runs here aside. */
async function hostsElsewhere(directory: string): Promise<readonly ServingHost[]> {
  const answer = await callRunningHost(directory, { method: 'GET', path: '/hosts' })
  if (answer?.status !== 200) return await otherHosts(directory)
  const { self, others } = answer.body as { self: ServingHost; others: ServingHost[] }
  const state = await callRunningHost(directory, { method: 'GET', path: '/state' })
  const { workers = [], silentWorkers = [] } = (state?.body ?? {}) as Partial<ApplicationState>
  const own = [...workers.map(({ pid }) => pid), ...silentWorkers]
  return others.filter(({ machine, pid }) => machine !== self.machine || !own.includes(pid))
}

/** For people: `web-2 http://10.0.0.2:3000 (process 7): api-cart 1.0.0 (here 1.1.0)`. */
export const describeHost = (host: DifferingHost): string =>
  `${nameOfHost(host)}: ${host.differences.join(', ')}`
