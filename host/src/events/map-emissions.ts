import type { Emission, Transaction } from '@mortise/module-sdk'
import { isEmission } from '@mortise/module-sdk/transaction'
import { StatementCheck } from '@mortise/storage'

/** For steps that the host offers to modules: they name its tables. */
export const hostSteps = new StatementCheck(() => '')

/** Runs the same steps, with `write` in place of each emission. */
export function* mapEmissions<Result>(
  steps: Transaction<Result>,
  write: (event: Emission['event']) => Transaction<unknown>,
): Transaction<Result> {
  let next = steps.next()
  while (!next.done) {
    const step = next.value
    let result: unknown
    try {
      result = isEmission(step) ? yield* write(step.event) : yield step
    } catch (error) {
      next = steps.throw(error)
      continue
    }
    next = steps.next(result)
  }
  return next.value
}

/** Runs the same steps; their events belong to a trace. */
export const withTrace = <Result>(steps: Transaction<Result>, traceparent: string): Transaction<Result> =>
  mapEmissions(steps, function* (event) {
    return yield { event: { ...event, traceparent } }
  })
