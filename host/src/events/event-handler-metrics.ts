import type { Storage } from '@mortise/storage'
import { gauge, type MetricFamily } from '../telemetry/metric-family.ts'
import { readSubscriptions } from './failed-event-queries.ts'

/**
 * The modules' progress with events; empty if the database is unavailable.
 * @param modules those that serve
 */
export async function eventHandlerMetrics(
  storage: Storage,
  modules: ReadonlySet<string>,
): Promise<MetricFamily[]> {
  const all = await storage.snapshot(() => readSubscriptions()).catch(() => [])
  const serving = all.filter(({ module }) => modules.has(module))
  return [
    gauge(
      'mortise_events_behind',
      'Events that are newer than those that a module has done',
      'max',
      serving.map(({ module, behind }) => ({ labels: { module }, value: behind })),
    ),
    gauge(
      'mortise_failed_reactions',
      'Events on which a module has failed, or that wait for such a one',
      'max',
      serving.flatMap(({ module, waiting, dead }) => [
        { labels: { module, state: 'waiting' }, value: waiting },
        { labels: { module, state: 'dead' }, value: dead },
      ]),
    ),
  ]
}
