import type { Transaction } from './transaction.ts'

/** Something that is to stay on record. Who did it, when, and for which request, the host adds. */
export interface AuditEntry {
  /** What was done: `purchase.cancelled`. */
  readonly action: string
  /** To what: an id. */
  readonly object: string
  /** What cannot be looked up later, as JSON; nothing personal, since it is never deleted. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** A step of a transaction: the entry is there exactly if the transaction is committed. */
export type Audit = (entry: AuditEntry) => Transaction<void>
