import type { Transaction } from '@mortise/module-sdk'
import { isEmission } from './emission.ts'

/** The same steps; the events that they emit belong to a trace. */
export function* withTrace<Result>(steps: Transaction<Result>, traceparent: string): Transaction<Result> {
  let next = steps.next()
  while (!next.done) {
    const step = isEmission(next.value) ? { event: { ...next.value.event, traceparent } } : next.value
    let answer: unknown
    try {
      answer = yield step
    } catch (error) {
      next = steps.throw(error)
      continue
    }
    next = steps.next(answer)
  }
  return next.value
}
