import type { Storage } from '@mortise/storage'
import { gauge, type MetricFamily } from '../telemetry/prometheus-format.ts'
import { readWorks } from './job-queries.ts'

/** Empty if the database is unavailable. */
export async function jobMetrics(storage: Storage, modules: ReadonlySet<string>): Promise<MetricFamily[]> {
  const works = await storage.snapshot(() => readWorks()).catch(() => [])
  const samples = works
    .filter(({ module }) => modules.has(module))
    .flatMap(({ module, work, ...counts }) =>
      Object.entries(counts).map(([state, value]) => ({ labels: { module, work, state }, value })),
    )
  return [
    gauge('mortise_jobs', 'Jobs of a work that wait, run or have failed for the last time', 'max', samples),
  ]
}
