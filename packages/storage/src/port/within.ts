import type { Transaction } from '@mortise/module-sdk'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { generatorOf, lookAt } from './steps.ts'

/** The same steps, which end with `too-long` when so many milliseconds have passed from now. */
export function within<Result>(
  steps: () => Transaction<Result>,
  limit: number | undefined,
): () => Transaction<Result> {
  if (limit === undefined) return steps
  const end = performance.now() + limit
  const look = () => {
    if (performance.now() > end) throw tooLong(limit)
  }
  return () => lookAt(generatorOf(steps), look)
}

export const tooLong = (limit: number) =>
  new DatabaseError('too-long', `these reads took longer than the ${limit} ms that they may take`)
