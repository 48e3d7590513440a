export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether to send an Idempotency-Key, a new one each time. */
  readonly withKey?: boolean
}

/** The input of the load generator. */
export interface LoadPlan {
  readonly url: string
  /** The requests of each keep-alive connection, which it repeats in order. */
  readonly connections: readonly (readonly LoadRequest[])[]
  readonly seconds: number
}

/** The output of the load generator. */
export interface LoadResult {
  readonly requests: number
  /** The number of failed requests, including those without a response. */
  readonly failures: number
  readonly seconds: number
  /** The median and the 99th percentile of latency, in milliseconds. */
  readonly median: number
  readonly p99: number
  /** The generator's share of one core. Near 1 the generator was the limit, not the server. */
  readonly busy: number
}
