import type { Database, Emission, Sql, Statement, Step, Transaction } from '@mortise/module-sdk'
import { generatorOf, lookAt, type Storage } from '@mortise/storage'

/** A statement, or `event TYPE`. */
type OnStep = (text: string) => void

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
          const look = (step: Step) => {
            const { query, event } = (step ?? {}) as Partial<Statement & Emission>
            if (query) onStep(textOf(query))
            if (event) onStep(`event ${event.type}`)
          }
          return value.call(target, () => lookAt(generatorOf(steps), look))
        }
      }
      return value.bind(target)
    },
  })
}
