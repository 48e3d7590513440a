import type { Transaction } from './transaction.ts'

/** An entry for the audit trail. The host adds the actor, the time and the request. */
export interface AuditEntry {
  /** What was done: `purchase.cancelled`. */
  readonly action: string
  /** The id of the object. */
  readonly object: string
  /**
   * Facts that cannot be looked up later, as JSON. No personal data: the entry is never deleted.
   */
  readonly details?: Readonly<Record<string, unknown>>
}

/** A step of a transaction: the entry is written if and only if the transaction commits. */
export type Audit = (entry: AuditEntry) => Transaction<void>
