import { newId, run, sql, type Transaction } from '@mortise/module-sdk'
import { now } from './now.ts'

/** For how long a lease is kept by a holder that is heard of no more, in milliseconds. */
const TERM = 120_000

/**
 * The right to do what one of all hosts on a database is to do. It is taken in the transaction that does it: whoever
 * has lost it meanwhile cannot commit.
 */
export class Lease {
  readonly #name: string
  readonly #holder = newId('lease')

  constructor(name: string) {
    this.#name = name
  }

  /** Takes it, or keeps it. False where another holds it. */
  *take(): Transaction<boolean> {
    const taken = yield* run(sql`
      INSERT INTO mortise_lease (name, holder, expires_at)
      VALUES (${this.#name}, ${this.#holder}, ${now} + ${TERM})
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
      WHERE mortise_lease.holder = excluded.holder OR mortise_lease.expires_at <= ${now}`)
    return taken > 0
  }

  /** Leaves it to whoever asks next. */
  *release(): Transaction<void> {
    yield* run(sql`DELETE FROM mortise_lease WHERE name = ${this.#name} AND holder = ${this.#holder}`)
  }
}
