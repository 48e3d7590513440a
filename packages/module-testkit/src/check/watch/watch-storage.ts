import type { Database, Sql, Step, Transaction } from '@mortise/module-sdk'
import { generatorOf, type Storage } from '@mortise/storage'

/** A statement, or `event TYPE`. */
export type OnStep = (text: string) => void

const textOf = ({ strings }: Sql) => strings.join('?').replace(/\s+/g, ' ').trim()

/**
 * The same storage, which reports each statement of reads and transactions.
 * @param reader called at the beginning of each: what to tell its steps
 */
export function watchStorage(storage: Storage, reader: () => OnStep): Storage {
  const reads = new Set(['many', 'maybeOne', 'one'])
  const transactions = new Set(['snapshot', 'transaction'])
  return new Proxy(storage, {
    get(target, name: keyof Database) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (reads.has(name)) {
        return (query: Sql) => {
          reader()(textOf(query))
          return value.call(target, query)
        }
      }
      if (transactions.has(name)) {
        return (steps: () => Transaction<unknown>) => {
          const onStep = reader()
          return value.call(target, () => watchSteps(generatorOf(steps), onStep))
        }
      }
      return value.bind(target)
    },
  })
}

/** The same steps. `run` wraps each part of their code. */
export function* watchSteps<Result>(
  steps: Transaction<Result>,
  onStep: OnStep,
  run: <Value>(work: () => Value) => Value = (work) => work(),
): Transaction<Result> {
  let next = run(() => steps.next())
  while (!next.done) {
    const step = next.value as Partial<{ query: Sql; event: { type: string } }>
    if (step?.query) onStep(textOf(step.query))
    if (step?.event) onStep(`event ${step.event.type}`)
    let go: () => IteratorResult<Step, Result>
    try {
      const answer: unknown = yield next.value as Step
      go = () => steps.next(answer)
    } catch (error) {
      go = () => steps.throw(error)
    }
    next = run(go)
  }
  return next.value
}
