import type { Caller, Problem, StreamLimits, StreamProblem } from '@mortise/module-sdk'

/** Who wants a stream. */
export interface Reader {
  readonly caller: Caller
  readonly limits: StreamLimits
  /** Makes the problem of a refused stream. */
  readonly problem: (
    code: StreamProblem,
    detail: string,
    headers?: Readonly<Record<string, string>>,
  ) => Problem
}
