import type { Database, Sql, Step, Transaction } from '@mortise/module-sdk'
import { isEmission, isStatement } from '@mortise/module-sdk/transaction'
import { generatorOf, type Storage } from '@mortise/storage'
import type { SeenStep } from './seen.ts'

type OnStep = (step: SeenStep) => void

const textOf = ({ strings }: Sql) => strings.join('?').replace(/\s+/g, ' ').trim()

/**
 * The same storage, which reports each statement of reads and transactions.
 * @param reader called at the beginning of each: what to report about its steps
 */
export function watchStorage(storage: Storage, reader: () => OnStep): Storage {
  const reads = new Set(['many', 'maybeOne', 'one'])
  const transactions = new Set(['snapshot', 'transaction'])
  return new Proxy(storage, {
    get(target, name: keyof Database) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (reads.has(name)) {
        return async (query: Sql) => {
          const step: SeenStep = { text: textOf(query), alone: true, query }
          reader()(step)
          step.result = await value.call(target, query)
          return step.result
        }
      }
      if (transactions.has(name)) {
        return (steps: () => Transaction<unknown>) => {
          const onStep = reader()
          return value.call(target, () => watchSteps(generatorOf(steps), name === 'snapshot', onStep))
        }
      }
      return value.bind(target)
    },
  })
}

/** The same steps, with their results. */
function* watchSteps(steps: Transaction<unknown>, alone: boolean, onStep: OnStep): Transaction<unknown> {
  let next = steps.next()
  while (!next.done) {
    const seen = seenStep(next.value, alone)
    if (seen) onStep(seen)
    let result: unknown
    try {
      result = yield next.value
    } catch (error) {
      next = steps.throw(error)
      continue
    }
    if (seen) seen.result = result
    next = steps.next(result)
  }
  return next.value
}

function seenStep(step: Step, alone: boolean): SeenStep | undefined {
  if (isEmission(step)) return { text: `event ${step.event.type}`, alone, event: step.event }
  if (isStatement(step)) return step.query && { text: textOf(step.query), alone, query: step.query }
  // The host refuses it.
  step satisfies never
  return undefined
}
