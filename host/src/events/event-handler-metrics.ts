import type { Storage } from '@mortise/storage'
import { gauge, type MetricFamily } from '../telemetry/prometheus-format.ts'
import { readSubscriptions } from './failed-event-queries.ts'

/** Empty if the database is unavailable. */
export async function eventHandlerMetrics(
  storage: Storage,
  modules: ReadonlySet<string>,
): Promise<MetricFamily[]> {
  const all = await storage.snapshot(() => readSubscriptions()).catch(() => [])
  const serving = all.filter(({ module }) => modules.has(module))
  return [
    gauge(
      'mortise_events_behind',
      'Events that the handlers of a module have not reached',
      'max',
      serving.map(({ module, behind }) => ({ labels: { module }, value: behind })),
    ),
    gauge(
      'mortise_failed_reactions',
      'Events whose handler failed, and later events that wait for them',
      'max',
      serving.flatMap(({ module, waiting, dead }) => [
        { labels: { module, state: 'waiting' }, value: waiting },
        { labels: { module, state: 'dead' }, value: dead },
      ]),
    ),
  ]
}
