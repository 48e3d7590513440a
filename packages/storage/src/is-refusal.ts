import { DatabaseError } from '@mortise/module-sdk'
import { ShortageError } from './sqlite/database-error.ts'

/** Whether a write failed since none are taken for a while. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ShortageError ||
  (error instanceof DatabaseError && (error.kind === 'full' || error.kind === 'held'))

/** Whether `tellRefusals` tells it: each request meets it until it is over. */
export const isTold = (error: unknown): boolean =>
  isRefusal(error) || (error instanceof DatabaseError && error.kind === 'unavailable')
