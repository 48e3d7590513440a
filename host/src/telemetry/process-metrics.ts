import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { counter, gauge, type MetricFamily } from './prometheus-format.ts'

/** How often the event loop delay is measured, in milliseconds. */
const RESOLUTION = 20

/** Process metrics of the operating system and Node, under the names that dashboards know. */
export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION })

  constructor() {
    this.#delay.enable()
  }

  /** The delays are those since the last call. */
  families(): MetricFamily[] {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const delay = this.#delay
    // Without a measurement the delay is zero.
    const seconds = (nanoseconds: number) => (delay.count === 0 ? 0 : nanoseconds / 1e9)
    const lag = (part: string, nanoseconds: number) =>
      gauge(
        `nodejs_eventloop_lag_${part}_seconds`,
        `Delay of the event loop, ${part}, since the last scrape`,
        'max',
        seconds(nanoseconds),
      )
    const families = [
      counter('process_cpu_seconds_total', 'CPU time', (user + system) / 1e6),
      gauge('process_resident_memory_bytes', 'Resident memory', 'sum', rss),
      gauge('process_start_time_seconds', 'Start time', 'min', performance.timeOrigin / 1000),
      gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use', 'sum', heapUsed),
      counter(
        'mortise_eventloop_active_seconds_total',
        'Busy time of the event loop: its rate is the utilization',
        performance.eventLoopUtilization().active / 1000,
      ),
      lag('p50', delay.percentile(50)),
      lag('p99', delay.percentile(99)),
      lag('max', delay.max),
    ]
    delay.reset()
    return families
  }

  stop(): void {
    this.#delay.disable()
  }
}
