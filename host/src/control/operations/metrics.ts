import { gauge, type MetricFamily, mergeFamilies } from '../../telemetry/prometheus-format.ts'
import { hostOperation } from '../operation.ts'

export const metrics = hostOperation({
  reads: true,
  run: (host) => host.metrics(),
  async inPool(pool, request) {
    const answers = await pool.askAll(request)
    const families = answers.flatMap(({ status, body }) => (status === 200 ? [body as MetricFamily[]] : []))
    const processes = gauge('mortise_workers', 'Processes of app start --workers by state', 'max', [
      { labels: { state: 'serving' }, value: pool.serving - pool.silent.length },
      { labels: { state: 'silent' }, value: pool.silent.length },
    ])
    return { status: 200, body: [...mergeFamilies(families), processes] }
  },
})
