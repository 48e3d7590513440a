import { maybeOne, newId, now, run, sql, type Transaction } from '@mortise/module-sdk'
import { lasts } from '../events/handler-times.ts'

/** How long a lease lasts without a sign of life from its holder, in milliseconds. */
const TERM = 120_000

/** Taken in the transaction that does the work, so a holder that has lost it cannot commit. */
export class Lease {
  readonly #name: string
  readonly #holder = newId('lease')

  constructor(name: string) {
    this.#name = name
  }

  /** Takes or extends the lease. False if another holder has it. */
  *take(): Transaction<boolean> {
    const taken = yield* run(sql`
      INSERT INTO mortise_lease (name, holder, expires_at)
      VALUES (${this.#name}, ${this.#holder}, ${now} + ${TERM})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE mortise_lease.holder = excluded.holder OR NOT ${lasts(sql`mortise_lease.expires_at`, TERM)}`)
    return taken > 0
  }

  /** Milliseconds since anyone took it; undefined if nobody has. */
  *age(): Transaction<number | undefined> {
    const taken = yield* maybeOne<{ age: number }>(
      sql`SELECT ${now} + ${TERM} - expires_at AS age FROM mortise_lease WHERE name = ${this.#name}`,
    )
    return taken?.age
  }

  /** Ends it. The row stays for `age`. */
  *release(): Transaction<void> {
    yield* run(sql`
      UPDATE mortise_lease SET expires_at = ${now} WHERE name = ${this.#name} AND holder = ${this.#holder}`)
  }
}
