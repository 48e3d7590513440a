import type { ControlRequest, ControlResponse } from '../pool.ts'

// The messages between a parent and its workers. After `app host-upgrade` their versions differ, so
// additions must be optional.

export type ToWorker =
  | { readonly type: 'ask'; readonly call: number; readonly request: ControlRequest }
  /** Leave once every client has been told to reconnect. */
  | { readonly type: 'leave' }
  /** Stop as at SIGTERM, with `why` as the reason; without it at once, as `Application.close`. */
  | { readonly type: 'stop'; readonly why?: string; readonly drainSeconds?: number }
  /** The number of silent processes. */
  | { readonly type: 'silent'; readonly count: number }
  /** Stop and cut off requests in progress. */
  | { readonly type: 'cut' }

export type FromWorker =
  | { readonly type: 'serving'; readonly url: string }
  | { readonly type: 'failed'; readonly failure: WorkerFailure }
  | { readonly type: 'answer'; readonly call: number; readonly answer: ControlResponse }

/** The reason of a worker's end, in the words of the `app` command. */
export interface WorkerFailure {
  readonly code: string
  readonly exitCode: number
  readonly message: string
  readonly hint: string
}
