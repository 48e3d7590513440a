import { gauge, type MetricFamily, mergeFamilies } from '../../telemetry/prometheus-format.ts'
import { hostOperation } from '../operation.ts'

export const metrics = hostOperation({
  reads: true,
  run: (host) => host.metrics(),
  async inPool(pool, request) {
    const answers = await pool.askAll(request)
    const families = answers.flatMap(({ status, body }) => (status === 200 ? [body as MetricFamily[]] : []))
    // Those whose figures are missing, not those that are silent by now.
    const silent = answers.filter(({ status }) => status === 504).length
    const processes = gauge('mortise_workers', 'Processes of app start --workers by state', 'max', [
      { labels: { state: 'serving' }, value: pool.serving - silent },
      { labels: { state: 'silent' }, value: silent },
    ])
    return { status: 200, body: [...mergeFamilies(families), processes] }
  },
})
