import type { Operation } from './check-history.ts'

/** What came of an operation: a response; nothing, for certain; or nobody knows. */
export type Outcome<Output> =
  | { readonly output: Output; readonly happened?: undefined }
  | { readonly output?: undefined; readonly happened: 'not' | 'perhaps' }

/** Who did what from when to when, by the clock of this process. */
export class History<Input, Output> {
  readonly operations: Operation<Input, Output>[] = []

  async record(input: Input, work: () => Promise<Outcome<Output>>): Promise<Outcome<Output>> {
    const called = performance.now()
    const outcome = await work()
    const { output } = outcome
    const returned = output === undefined ? Number.POSITIVE_INFINITY : performance.now()
    if (outcome.happened === 'not') return outcome
    this.operations.push({ input, output, called, returned })
    return outcome
  }
}
