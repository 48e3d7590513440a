import { type GuestClaim, join, maybeOne, run, sql, type Transaction } from '@mortise/module-sdk'
import { moveRecords } from './idempotency-records.ts'

export type Take = (claim: GuestClaim) => Transaction<void>

/**
 * What is handed over when a user claims a guest. A module that does not serve then, but has tables (it is disabled, has
 * failed, or was removed), gets the claim when it serves again.
 */
export class Claims {
  readonly #serving: readonly string[]
  readonly #takes = new Map<string, Take>()

  /** @param serving ids of the modules of this generation */
  constructor(serving: readonly string[]) {
    this.#serving = serving
  }

  /** Has `module` take part. Once for each. */
  add(module: string, take: Take): void {
    if (this.#takes.has(module)) throw new Error('it calls onClaim twice')
    this.#takes.set(module, take)
  }

  /** Hands over all that the guest has, in the transaction that retires it. */
  *handOver(claim: GuestClaim): Transaction<void> {
    yield* moveRecords(claim.guest, claim.user)
    for (const take of this.#takes.values()) yield* take(claim)
    const serving = join(['host', ...this.#serving].map((id) => sql`${id}`))
    yield* run(sql`
      INSERT INTO mortise_claim (module, guest, claimed_by)
      SELECT DISTINCT module, CAST(${claim.guest} AS TEXT), CAST(${claim.user} AS TEXT)
      FROM mortise_migration WHERE module NOT IN (${serving})`)
  }

  /** Hands over what one guest had in `module` when it did not serve; answers whether there may be more of them. */
  *handOverLate(module: string): Transaction<boolean> {
    const claim = yield* maybeOne<GuestClaim>(sql`
      SELECT guest, claimed_by AS "user" FROM mortise_claim WHERE module = ${module} ORDER BY guest LIMIT 1`)
    if (!claim) return false
    yield* (this.#takes.get(module) as Take)(claim)
    yield* run(sql`DELETE FROM mortise_claim WHERE module = ${module} AND guest = ${claim.guest}`)
    return true
  }
}
