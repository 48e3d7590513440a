import type { Transaction } from '@mortise/module-sdk'

const remedy = 'a transaction takes a generator: write transaction(function* () { … })'

/**
 * Starts the steps of a transaction.
 * @throws {TypeError} for anything but a generator; an async function, which would hold the write
 * lock while it waits, is not even called
 */
export function generatorOf<Result>(steps: () => Transaction<Result>): Transaction<Result> {
  if (kindOf(steps).startsWith('Async')) throw new TypeError(`${remedy}, not an async function`)
  const begun: unknown = typeof steps === 'function' ? steps() : undefined
  if (kindOf(begun) === 'Generator') return begun as Transaction<Result>
  // An unhandled rejection would end the process.
  if (begun instanceof Promise) begun.catch(() => {})
  throw new TypeError(remedy)
}

/** The language's name for the type of a value: `Generator`, `AsyncFunction`. */
export const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice('[object '.length, -1)
