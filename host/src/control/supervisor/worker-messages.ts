// The messages between a supervisor and its workers. After `app host-upgrade` their versions differ,
// so additions must be optional. Everything else that ends a worker is a signal.

/** Leave once every client has been asked to reconnect. */
export interface ToWorker {
  readonly type: 'leave'
}

export type FromWorker =
  | { readonly type: 'serving'; readonly url: string }
  | { readonly type: 'failed'; readonly failure: WorkerFailure }

/** The reason of a worker's end, in the words of the `app` command. */
export interface WorkerFailure {
  readonly code: string
  readonly exitCode: number
  readonly message: string
  readonly hint: string
}
