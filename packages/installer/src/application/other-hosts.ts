import { isLoaded } from '@mortise/application'
import {
  callApplication,
  callRunningHost,
  differences,
  hostLabel,
  type ServingHost,
  servedModule,
} from '@mortise/host'
import { StorageUnreachableError } from '@mortise/storage'
import { stillServed } from '../failures/index.ts'

type DifferingHost = Awaited<ReturnType<typeof differingHosts>>[number]

/**
 * The other hosts of the same database with different modules from the host that runs here.
 * `differences` are for people, one for each module: `api-cart 1.0.0 (here 1.1.0)`.
 */
export async function differingHosts(directory: string) {
  const { self, others } = (await callRunningHost(directory, 'hosts').catch(unknownHosts)) ?? {}
  if (self === undefined || others === undefined) return []
  const { pid, workers = [], silentWorkers = [] } = (await callRunningHost(directory, 'state')) ?? {}
  const alive = [pid, ...workers.map((worker) => worker.pid), ...silentWorkers]
  // A killed process of this application still counts for half a minute elsewhere.
  const isGone = (other: ServingHost) =>
    other.machine === self.machine && other.url === self.url && !alive.includes(other.pid)
  return others
    .filter((other) => !isGone(other))
    .map((other) => {
      const { machine, pid, url, version, generation } = other
      return { machine, pid, url, version, generation, differences: differences(self, other) }
    })
    .filter((host) => host.differences.length > 0)
}

/** A host without its database does not know them now. */
function unknownHosts(error: unknown): undefined {
  if (!(error instanceof StorageUnreachableError)) throw error
}

/**
 * @param modules ids of the modules to remove, with their data
 * @throws {Failure} if another host of the database serves one of them
 */
export async function assertServedNowhereElse(directory: string, modules: readonly string[]): Promise<void> {
  for (const host of await hostsElsewhere(directory)) {
    const id = modules.find((id) => {
      const served = servedModule(host, id)
      return served !== undefined && isLoaded(served)
    })
    if (id === undefined) continue
    throw stillServed({ id, host: hostLabel(host) })
  }
}

/** The hosts of the database, except the processes of the host that runs here. */
async function hostsElsewhere(directory: string): Promise<readonly ServingHost[]> {
  const { self, others } = await callApplication(directory, 'hosts')
  const { workers = [], silentWorkers = [] } = (await callRunningHost(directory, 'state')) ?? {}
  const own = [...workers.map(({ pid }) => pid), ...silentWorkers]
  return others.filter(({ machine, pid }) => machine !== self?.machine || !own.includes(pid))
}

/** For people: `web-2 http://10.0.0.2:3000 (process 7): api-cart 1.0.0 (here 1.1.0)`. */
export const describeHost = (host: DifferingHost): string =>
  `${hostLabel(host)}: ${host.differences.join(', ')}`
