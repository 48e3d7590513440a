import { DatabaseError } from '@mortise/module-sdk'

/** A migration that cannot be applied; the message names the file, says why and what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** What would be taken away is needed by another host of the database; the message says which and for what. */
export class StillNeededError extends MigrationError {}

/** What only SQLite can do, asked of another engine; the message says what to do instead. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
}

/** The database server cannot be used; the message says why. */
export class StorageUnreachableError extends Error {
  override readonly name = 'StorageUnreachableError'
}

/** There is no database where one was expected; the message says where. */
export class NoDatabaseError extends Error {
  override readonly name = 'NoDatabaseError'
}

/** Another process, or another part of this one, has the database open. */
export class StorageBusyError extends Error {
  override readonly name = 'StorageBusyError'
}

/**
 * The file or the disk can no longer be trusted: the process has to stop. `unknown-outcome` where a COMMIT has failed;
 * nothing was changed otherwise.
 */
export class BrokenStorageError extends DatabaseError {
  constructor(
    message: string,
    options?: ErrorOptions,
    kind: 'unavailable' | 'unknown-outcome' = 'unavailable',
  ) {
    super(kind, message, options)
  }

  /** What is asked of the storage from then on fails with this: none of it was tried. */
  get afterwards(): BrokenStorageError {
    return new BrokenStorageError(this.message, { cause: this })
  }
}

/** SQLite got no file, no folder or no memory to work with: the transaction is undone, and the database is sound. */
export class ShortageError extends DatabaseError {
  constructor(message: string, options?: ErrorOptions) {
    super('unavailable', message, options)
  }
}

/** Whether a write found no room and left nothing. */
export const isFull = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.kind === 'full'

/** Whether a transaction failed for want of room, files or memory, and can be undone. */
export const isShortage = (error: unknown): error is DatabaseError =>
  isFull(error) || error instanceof ShortageError

/** A statement for people. */
export function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 200 ? `${line.slice(0, 200)}…` : line
}

/** Whether a write failed since none are taken for a while. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ShortageError ||
  (error instanceof DatabaseError && (error.kind === 'full' || error.kind === 'held'))

/** Whether `logRefusals` tells it: each request meets it until it is over. */
export const isLoggedElsewhere = (error: unknown): boolean =>
  isRefusal(error) || (error instanceof DatabaseError && error.kind === 'unavailable')
