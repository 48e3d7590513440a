import { DatabaseError } from '@mortise/module-sdk/transaction'

/** A migration that cannot be applied; the message names the file, the reason and the remedy. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}

/** No available package has this applied migration, so its form for the other engine is unknown. */
export class UnknownMigrationError extends MigrationError {
  readonly module: string

  constructor(message: string, module: string) {
    super(message)
    this.module = module
  }
}

/**
 * Another host of the database needs what would be removed; the message names the host and the
 * reason.
 */
export class StillNeededError extends MigrationError {}

/** Only SQLite supports the operation; the message names the alternative. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
}

/** The database server cannot be used; the message says why. */
export class StorageUnreachableError extends Error {
  override readonly name: string = 'StorageUnreachableError'
}

/** The database server responds and refuses this user; the message says why. */
export class StorageRefusedError extends StorageUnreachableError {
  override readonly name = 'StorageRefusedError'
}

/**
 * The database is reached, but no application can use it as it is; the message says why, and what to
 * do.
 */
export class StorageUnfitError extends StorageUnreachableError {
  override readonly name = 'StorageUnfitError'
}

/** An expected database is missing; the message says where. */
export class NoDatabaseError extends Error {
  override readonly name = 'NoDatabaseError'
}

/** Another process, or another part of this one, has the database open. */
export class StorageBusyError extends Error {
  override readonly name = 'StorageBusyError'
}

/** Another session or process holds a lock that is needed; the message names it. */
export class DatabaseLockedError extends Error {
  override readonly name = 'DatabaseLockedError'
}

/** PostgreSQL: a wait that was too long, and two that waited for each other. */
const LOCKED = /^(55P03|40P01|SQLITE_(BUSY|LOCKED).*)$/

/** Whether work failed because another session or process holds a lock. */
export function isLocked(error: unknown): boolean {
  if (error instanceof DatabaseLockedError) return true
  if (!(error instanceof Error)) return false
  return LOCKED.test((error as NodeJS.ErrnoException).code ?? '') || isLocked(error.cause)
}

/**
 * The file or the disk can no longer be trusted, so the process must stop. `unknown-outcome` after
 * a failed COMMIT; otherwise nothing was changed.
 */
export class BrokenStorageError extends DatabaseError {
  constructor(
    message: string,
    options?: ErrorOptions,
    kind: 'unavailable' | 'unknown-outcome' = 'unavailable',
  ) {
    super(kind, message, options)
  }

  /** The error of every later call to the storage: none of them was tried. */
  get afterwards(): BrokenStorageError {
    return new BrokenStorageError(this.message, { cause: this })
  }
}

/**
 * SQLite got no file, folder or memory to work with: the transaction is rolled back, and the
 * database is intact.
 */
export class ShortageError extends DatabaseError {
  constructor(message: string, options?: ErrorOptions) {
    super('unavailable', message, options)
  }
}

/** Whether a write failed for lack of space and was rolled back. */
export const isFull = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && error.kind === 'full'

/** Whether a transaction failed for lack of space, files or memory, and can be rolled back. */
export const isShortage = (error: unknown): error is DatabaseError =>
  isFull(error) || error instanceof ShortageError

/** Shortens a statement for messages. */
export function shortened(text: string, length = 200): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length)}…` : line
}

/** Whether a write failed because writes are refused for now. */
export const isRefusal = (error: unknown): boolean =>
  isShortage(error) || (error instanceof DatabaseError && error.kind === 'held')
