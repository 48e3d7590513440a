import type { Storage } from '@mortise/storage'
import { gauge, type MetricFamily } from '../telemetry/prometheus-format.ts'
import { readSubscriptions } from './failed-event-queries.ts'
import { readWorks } from './job-queries.ts'

/** The metrics of event handlers and jobs. Empty if the database is unavailable. */
export async function backgroundMetrics(
  storage: Storage,
  modules: ReadonlySet<string>,
): Promise<MetricFamily[]> {
  const [subscriptions, works] = await storage
    .snapshot(
      function* () {
        return [yield* readSubscriptions(), yield* readWorks()] as const
      },
      { long: true },
    )
    .catch(() => [[], []])
  const handling = subscriptions.filter(({ module }) => modules.has(module))
  const working = works.filter(({ module }) => modules.has(module))
  return [
    gauge(
      'mortise_events_behind',
      'Events that the handlers of a module have not reached',
      'max',
      handling.map(({ module, behind }) => ({ labels: { module }, value: behind })),
    ),
    gauge(
      'mortise_failed_events',
      'Events whose handler failed, and later events that wait for them',
      'max',
      handling.flatMap(({ module, waiting, dead }) => samples({ module }, { waiting, dead })),
    ),
    gauge(
      'mortise_jobs',
      'Jobs of a work that wait, run or have failed for the last time',
      'max',
      working.flatMap(({ module, work, ...counts }) => samples({ module, work }, counts)),
    ),
  ]
}

const samples = (labels: Readonly<Record<string, string>>, counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([state, value]) => ({ labels: { ...labels, state }, value }))
