import type { ReadOptions, Sql, Step, Transaction } from '@mortise/module-sdk'
import { isEmission, isStatement } from '@mortise/module-sdk/transaction'
import { type Guard, generatorOf, type Storage } from '@mortise/storage'
import type { SeenStep } from './seen.ts'

type OnStep = (step: SeenStep) => void
type How = Pick<SeenStep, 'alone' | 'long'>

const textOf = ({ strings }: Sql) => strings.join('?').replace(/\s+/g, ' ').trim()

/**
 * The same storage, which reports each statement of reads and transactions.
 * @param reader called at the beginning of each: what to report about its steps
 */
export function watchStorage(storage: Storage, reader: () => OnStep): Storage {
  const reads = new Set(['many', 'maybeOne', 'one'])
  const transactions = new Set(['snapshot', 'transaction'])
  return new Proxy(storage, {
    get(target, name: keyof Storage) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name === 'guard') {
        return async (...given: Parameters<Storage['guard']>) =>
          watchGuard(await (target as Storage).guard(...given), reader)
      }
      if (reads.has(name)) {
        return async (query: Sql, options?: ReadOptions) => {
          const step: SeenStep = { text: textOf(query), alone: true, long: options?.long, query }
          reader()(step)
          step.result = await value.call(target, query, options)
          return step.result
        }
      }
      if (transactions.has(name)) {
        return (steps: () => Transaction<unknown>, options?: ReadOptions) => {
          const onStep = reader()
          const how = { alone: name === 'snapshot', long: options?.long }
          return value.call(target, () => watchSteps(generatorOf(steps), how, onStep), options)
        }
      }
      return value.bind(target)
    },
  })
}

/** Reports what the engine refuses before it runs, such as a column of the caller that is none. */
function watchGuard(guard: Guard, reader: () => OnStep): Guard {
  return {
    form: (query) => guard.form(query),
    offence(query) {
      try {
        return guard.offence(query)
      } catch (error) {
        reader()({ text: textOf(query), alone: true, query })
        throw error
      }
    },
  }
}

/** The same steps, with their results. */
function* watchSteps(steps: Transaction<unknown>, how: How, onStep: OnStep): Transaction<unknown> {
  let next = steps.next()
  while (!next.done) {
    const seen = seenStep(next.value, how)
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

function seenStep(step: Step, how: How): SeenStep | undefined {
  if (isEmission(step)) return { text: `event ${step.event.type}`, ...how, event: step.event }
  if (isStatement(step)) return step.query && { text: textOf(step.query), ...how, query: step.query }
  // The host refuses it.
  step satisfies never
  return undefined
}
