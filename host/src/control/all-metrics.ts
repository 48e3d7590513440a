import { isLoaded, isServing } from '@mortise/application'
import type { Storage } from '@mortise/storage'
import { backgroundMetrics } from '../events/background-metrics.ts'
import { backupTimes, noBackups } from '../events/backup-lease.ts'
import { connectionMetrics } from '../telemetry/connection-metrics.ts'
import { counter, gauge, type MetricFamily } from '../telemetry/prometheus-format.ts'
import type { ApplicationState } from './application-state.ts'
import { spaceMetrics } from './space-metrics.ts'

/** What a module uses at the moment. */
export interface ModuleUsage {
  readonly id: string
  /** In progress, of its routes. */
  readonly requests: number
  /** Open connections that it has made; absent if nobody counts. */
  readonly sockets?: number
}

export interface MetricSources {
  readonly state: ApplicationState
  readonly storage: Storage
  /** Of SQLite; undefined on PostgreSQL. */
  readonly databaseFile: string | undefined
  readonly inFlight: number
  /** Requests refused because there were too many. */
  readonly shed: number
  readonly usage: readonly ModuleUsage[]
  /** Connections refused because there were too many. */
  readonly refusedConnections: number
  /** Connections ended because they stood still. */
  readonly endedConnections: number
  /** What counts for itself. */
  readonly counters: readonly { families(): MetricFamily[] }[]
}

/** Every metric of one process. */
export async function allMetrics(sources: MetricSources): Promise<MetricFamily[]> {
  const { state, storage, inFlight, shed, usage, refusedConnections, endedConnections, counters } = sources
  const { host, generation, switches, loadedPackages, modules } = state
  const serving = new Set(modules.filter(isServing).map(({ id }) => id))
  const loaded = modules.filter(isLoaded).length
  const up = modules
    .filter((module) => isServing(module) || module.state === 'failed' || module.state === 'quarantined')
    .map(({ id, version }) => ({ labels: { module: id, version }, value: serving.has(id) ? 1 : 0 }))
  return [
    gauge('mortise_build_info', 'Host and Node versions', 'max', [
      { labels: { version: host, node: process.versions.node }, value: 1 },
    ]),
    gauge('mortise_requests_in_flight', 'Requests in progress', 'sum', inFlight),
    counter('mortise_shed_requests_total', 'Requests refused because of overload', shed),
    gauge('mortise_generation', 'Serving generation of modules.lock.json', 'min', generation),
    counter('mortise_generation_switches_total', 'Switches to another generation', switches),
    gauge(
      'mortise_module_up',
      '1 if the installed module serves, 0 if it has failed or is in quarantine',
      'min',
      up,
    ),
    gauge(
      'mortise_quarantined_modules',
      'Modules in quarantine, because they ended the host',
      'max',
      modules.filter(({ state }) => state === 'quarantined').length,
    ),
    gauge(
      'mortise_module_requests_in_flight',
      'Requests in progress, of the routes of a module',
      'sum',
      usage.map(({ id, requests }) => ({ labels: { module: id }, value: requests })),
    ),
    gauge(
      'mortise_module_handles',
      'Open connections that a module has made',
      'sum',
      usage.flatMap(({ id, sockets }) =>
        sockets === undefined ? [] : [{ labels: { module: id }, value: sockets }],
      ),
    ),
    gauge(
      'mortise_retained_packages',
      'Replaced packages whose code stays in memory until a restart',
      'max',
      loadedPackages - loaded,
    ),
    ...storageMetrics(storage),
    ...(await spaceMetrics(storage, sources.databaseFile)),
    ...connectionMetrics(refusedConnections, endedConnections),
    ...(await backgroundMetrics(storage, serving)),
    ...(await backupMetrics(storage)),
    ...counters.flatMap((counter) => counter.families()),
  ]
}

/** None before the first scheduled backup, and if the database is unavailable. */
async function backupMetrics(storage: Storage): Promise<MetricFamily[]> {
  const { last, failed } = await storage.snapshot(backupTimes).catch(() => noBackups)
  const times = [
    ['mortise_last_backup_timestamp_seconds', 'Time of the last good scheduled backup', last],
    ['mortise_last_failed_backup_timestamp_seconds', 'Time of the last failed scheduled backup', failed],
  ] as const
  return times.flatMap(([name, help, time]) => (time === null ? [] : [gauge(name, help, 'max', time / 1000)]))
}

function storageMetrics({ pool, refusal, refused, wal, newConnections }: Storage): MetricFamily[] {
  return [
    gauge(
      'mortise_writes_refused',
      '1 while writes are refused: disk full, or data move',
      'max',
      refusal === undefined ? 0 : 1,
    ),
    counter('mortise_refused_writes_total', 'Writes refused for these reasons', refused),
    ...(wal === undefined
      ? []
      : [gauge('mortise_wal_bytes', 'Size of the write-ahead log of SQLite', 'max', wal.bytes)]),
    ...(pool === undefined
      ? []
      : [
          gauge('mortise_database_connections', 'PostgreSQL connections for transactions', 'sum', [
            { labels: { state: 'busy' }, value: pool.open - pool.idle },
            { labels: { state: 'idle' }, value: pool.idle },
          ]),
          gauge(
            'mortise_database_connections_refused',
            '1 while PostgreSQL refuses new connections and the open ones serve',
            'max',
            newConnections.refusal === undefined ? 0 : 1,
          ),
          counter(
            'mortise_database_refused_connections_total',
            'Connections that PostgreSQL refused, or that failed',
            newConnections.refused,
          ),
          gauge(
            'mortise_database_waiting',
            'Transactions that wait for a PostgreSQL connection',
            'sum',
            pool.waiting,
          ),
        ]),
  ]
}
