import type { Storage } from '@mortise/storage'
import { counter, gauge, type MetricFamily, type Sample } from '../telemetry/metric-family.ts'
import type { ApplicationState } from './application-state.ts'

/**
 * Metrics of the running application.
 * @param inFlight requests in progress
 * @param shed requests refused because there were too many
 */
export function applicationMetrics(
  { host, generation, switches, loadedPackages, modules }: ApplicationState,
  inFlight: number,
  shed: number,
  { pool, refusal, refused, wal }: Pick<Storage, 'pool' | 'refusal' | 'refused' | 'wal'>,
): MetricFamily[] {
  const active = modules.filter(({ state }) => state === 'active')
  const up: Sample[] = modules
    .filter(({ state }) => state !== 'disabled')
    .map(({ id, version, state }) => ({
      labels: { module: id, version },
      value: state === 'active' ? 1 : 0,
    }))
  return [
    gauge('mortise_build_info', 'The versions of host and Node', 'max', [
      { labels: { version: host, node: process.versions.node }, value: 1 },
    ]),
    gauge('mortise_requests_in_flight', 'Requests that are being answered', 'sum', inFlight),
    counter('mortise_shed_requests_total', 'Requests that were refused, since there were too many', shed),
    gauge('mortise_generation', 'The generation of modules.lock.json that serves', 'min', generation),
    counter('mortise_generation_switches_total', 'How often another generation has taken over', switches),
    gauge('mortise_module_up', 'Whether an installed module serves (1) or has failed (0)', 'min', up),
    gauge(
      'mortise_retained_packages',
      'Replaced packages whose code stays in memory until a restart',
      'max',
      loadedPackages - active.length,
    ),
    gauge(
      'mortise_writes_refused',
      'Whether writes are refused (1): no room, or the data move',
      'max',
      refusal === undefined ? 0 : 1,
    ),
    counter('mortise_refused_writes_total', 'How many writes were refused so', refused),
    ...(wal === undefined
      ? []
      : [gauge('mortise_wal_bytes', 'The size of the write-ahead log of SQLite', 'max', wal.bytes)]),
    ...(pool === undefined
      ? []
      : [
          gauge('mortise_database_connections', 'Connections for transactions to PostgreSQL', 'sum', [
            { labels: { state: 'busy' }, value: pool.open - pool.idle },
            { labels: { state: 'idle' }, value: pool.idle },
          ]),
          gauge(
            'mortise_database_waiting',
            'Transactions that wait for a connection to PostgreSQL',
            'sum',
            pool.waiting,
          ),
        ]),
  ]
}
