import type { ControlRequest, ControlResponse } from '../pool.ts'

// What a parent and its workers say to each other. After `app host-upgrade` they are of different versions: whatever
// is added has to be optional.

export type ToWorker =
  | { readonly type: 'ask'; readonly call: number; readonly request: ControlRequest }
  /** Go once every caller has been told to connect anew. */
  | { readonly type: 'leave' }
  /** Stop as at SIGTERM, which is `why`; without it at once, as `Application.close`. */
  | { readonly type: 'stop'; readonly why?: string; readonly drainSeconds?: number }
  /** So many of the processes are silent. */
  | { readonly type: 'silent'; readonly count: number }
  /** Stop, and cut off what is in flight. */
  | { readonly type: 'cut' }

export type FromWorker =
  | { readonly type: 'serving'; readonly url: string }
  | { readonly type: 'failed'; readonly failure: WorkerFailure }
  | { readonly type: 'answer'; readonly call: number; readonly answer: ControlResponse }

/** Why a worker ends, in the words of the `app` command. */
export interface WorkerFailure {
  readonly code: string
  readonly exitCode: number
  readonly message: string
  readonly hint: string
}
