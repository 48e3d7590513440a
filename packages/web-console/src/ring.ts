import type { OperatorMetric } from '@mortise/module-sdk'

/** How often a sample is taken, in seconds. */
export const EVERY = 10
/** An hour. */
const LENGTH = 3600 / EVERY

/** What happened between two readings of the metrics. Rates are per second. */
export interface Sample {
  readonly at: string
  readonly requests: number
  /** Responses with 5xx. */
  readonly errors: number
  /** In milliseconds, by the bounds of the histogram; null without a request. */
  readonly p50: number | null
  readonly p99: number | null
  /** Of one core. */
  readonly cpu: number
  /** The share of the time in which the event loop was busy. */
  readonly loop: number
  readonly heap: number
  readonly rss: number
  readonly inFlight: number
  readonly commits: number
  /** Transactions in those commits. */
  readonly writes: number
  /** Events that the handler that is furthest behind has not reached. */
  readonly lag: number
  /** Bytes of the database; null if they are unknown, as is the disk of PostgreSQL. */
  readonly database: number | null
  readonly disk: number | null
  /** Jobs that wait. */
  readonly jobs: number
  /** `busy`: seconds of response time per second. */
  readonly modules: Readonly<Record<string, { readonly requests: number; readonly busy: number }>>
}

interface Reading {
  readonly at: number
  readonly metrics: ReadonlyMap<string, OperatorMetric['samples']>
}

const REQUESTS = 'mortise_request_duration_seconds'

/** The samples of the last hour. It outlives the generations of the host. */
export class Ring {
  #last: Reading | undefined
  readonly samples: Sample[] = []

  /** @param at epoch milliseconds */
  add(metrics: readonly OperatorMetric[], at: number): void {
    const next = { at, metrics: new Map(metrics.map(({ name, samples }) => [name, samples])) }
    const last = this.#last
    // Two generations may be there for a moment.
    if (last !== undefined && at < last.at + EVERY * 500) return
    this.#last = next
    if (last === undefined) return
    this.samples.push(sampleOf(last, next))
    if (this.samples.length > LENGTH) this.samples.shift()
  }
}

function sampleOf(last: Reading, next: Reading): Sample {
  const seconds = (next.at - last.at) / 1000
  type Labels = Readonly<Record<string, string>>
  const total = ({ metrics }: Reading, name: string, suffix: string, is: (labels: Labels) => boolean) =>
    (metrics.get(name) ?? [])
      .filter((sample) => (sample.suffix ?? '') === suffix && is(sample.labels ?? {}))
      .reduce((sum, { value }) => sum + value, 0)
  // A worker that has begun again begins at zero.
  const rate = (name: string, suffix = '', is: (labels: Labels) => boolean = () => true) =>
    Math.max(0, total(next, name, suffix, is) - total(last, name, suffix, is)) / seconds
  const now = (name: string, is: (labels: Labels) => boolean = () => true) => total(next, name, '', is)
  const bounds = [...new Set((next.metrics.get(REQUESTS) ?? []).flatMap(({ labels }) => labels?.le ?? []))]
  const buckets = bounds.map((le) => [Number(le), rate(REQUESTS, '_bucket', (of) => of.le === le)] as const)
  const all = rate(REQUESTS, '_count')
  const quantile = (share: number) => {
    const [bound] = buckets.find(([, upTo]) => upTo >= share * all) ?? [Number.NaN]
    if (all === 0) return null
    return Number.isFinite(bound)
      ? bound * 1000
      : Math.max(...buckets.map(([le]) => le).filter(Number.isFinite)) * 1000
  }
  const names = new Set((next.metrics.get(REQUESTS) ?? []).flatMap(({ labels }) => labels?.module ?? []))
  return {
    at: new Date(next.at).toISOString(),
    requests: all,
    errors: rate(REQUESTS, '_count', ({ status }) => status === '5xx'),
    p50: quantile(0.5),
    p99: quantile(0.99),
    cpu: rate('process_cpu_seconds_total'),
    loop: rate('mortise_eventloop_active_seconds_total'),
    heap: now('nodejs_heap_size_used_bytes'),
    rss: now('process_resident_memory_bytes'),
    inFlight: now('mortise_requests_in_flight'),
    commits: rate('mortise_commit_transactions', '_count'),
    writes: rate('mortise_commit_transactions', '_sum'),
    lag: Math.max(0, ...(next.metrics.get('mortise_events_behind') ?? []).map(({ value }) => value)),
    database: next.metrics.get('mortise_database_bytes')?.[0]?.value ?? null,
    disk: next.metrics.get('mortise_disk_free_bytes')?.[0]?.value ?? null,
    jobs: now('mortise_jobs', ({ state }) => state === 'waiting'),
    modules: Object.fromEntries(
      Array.from(names, (module) => {
        const own = (labels: Labels) => labels.module === module
        return [module, { requests: rate(REQUESTS, '_count', own), busy: rate(REQUESTS, '_sum', own) }]
      }),
    ),
  }
}
