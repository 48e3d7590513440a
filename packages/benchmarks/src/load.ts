export interface LoadRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Whether it is sent with an Idempotency-Key, another one each time. */
  readonly withKey?: boolean
}

/** What the load generator is asked for. */
export interface LoadPlan {
  readonly url: string
  /** For each keep-alive connection the requests that it sends, one after the other, over and over. */
  readonly connections: readonly (readonly LoadRequest[])[]
  readonly seconds: number
}

/** What it answers. */
export interface LoadResult {
  readonly requests: number
  /** Those that were answered with anything but success, or not at all. */
  readonly failures: number
  readonly seconds: number
  /** Latency in milliseconds: 99 of 100 requests were answered sooner. */
  readonly p99: number
  /** The share of one core that the generator itself used: near 1 it was the limit, not the server. */
  readonly busy: number
}
