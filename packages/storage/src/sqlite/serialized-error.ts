import { DatabaseError, type DatabaseErrorKind } from '@mortise/module-sdk/transaction'
import { BrokenStorageError, MigrationError, ShortageError } from '../port/errors.ts'

/** An error in transit between threads, which would drop its class. */
export interface SerializedError {
  readonly type: 'broken' | 'shortage' | 'database' | 'migration' | 'other'
  readonly kind: DatabaseErrorKind
  readonly message: string
  readonly stack: string | undefined
  /** The affected file, if any. */
  readonly path: string | undefined
  /** The code of the system or SQLite: `ENOSPC`. */
  readonly code: string | undefined
}

export function serializeError(error: unknown): SerializedError {
  const { message, stack, path, code } = error as Error & { path?: string; code?: string }
  const kind = error instanceof DatabaseError ? error.kind : 'other'
  return { type: typeOf(error), kind, message, stack, path, code }
}

export function deserializeError({ type, kind, message, stack, path, code }: SerializedError): Error {
  const error = make(type, kind, message)
  if (stack !== undefined) error.stack = stack
  return Object.assign(error, path !== undefined && { path }, code !== undefined && { code })
}

function typeOf(error: unknown): SerializedError['type'] {
  if (error instanceof BrokenStorageError) return 'broken'
  if (error instanceof ShortageError) return 'shortage'
  if (error instanceof DatabaseError) return 'database'
  return error instanceof MigrationError ? 'migration' : 'other'
}

function make(type: SerializedError['type'], kind: DatabaseErrorKind, message: string): Error {
  if (type === 'broken') {
    return new BrokenStorageError(message, {}, kind === 'unknown-outcome' ? kind : 'unavailable')
  }
  if (type === 'shortage') return new ShortageError(message)
  if (type === 'database') return new DatabaseError(kind, message)
  return type === 'migration' ? new MigrationError(message) : new Error(message)
}
