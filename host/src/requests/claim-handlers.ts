import { type GuestClaim, join, maybeOne, run, sql, type Transaction } from '@mortise/module-sdk'
import { moveRecords } from './idempotency-records.ts'

export type ClaimHandler = (claim: GuestClaim) => Transaction<void>

/**
 * Handlers that transfer a guest's data when a user claims the guest. A module that has tables but
 * is not loaded (disabled, failed or removed) gets the claim when it is loaded again.
 */
export class ClaimHandlers {
  readonly #loaded: readonly string[]
  readonly #handlers = new Map<string, ClaimHandler>()

  /** @param loaded ids of the modules of this generation */
  constructor(loaded: readonly string[]) {
    this.#loaded = loaded
  }

  /** Registers the handler of `module`; call it once per module. */
  add(module: string, handler: ClaimHandler): void {
    if (this.#handlers.has(module)) throw new Error('it calls onClaim twice')
    this.#handlers.set(module, handler)
  }

  /** Transfers all data of the guest, in the transaction that retires the guest. */
  *transfer(claim: GuestClaim): Transaction<void> {
    yield* moveRecords(claim.guest, claim.user)
    for (const handle of this.#handlers.values()) yield* handle(claim)
    const loaded = join(['host', ...this.#loaded].map((id) => sql`${id}`))
    yield* run(sql`
      INSERT INTO mortise_claim (module, guest, claimed_by)
      SELECT DISTINCT module, CAST(${claim.guest} AS TEXT), CAST(${claim.user} AS TEXT)
      FROM mortise_migration WHERE module NOT IN (${loaded})`)
  }

  /** `module` was not loaded then. Returns whether there may be more such guests. */
  *transferLate(module: string): Transaction<boolean> {
    const claim = yield* maybeOne<GuestClaim>(sql`
      SELECT guest, claimed_by AS "user" FROM mortise_claim WHERE module = ${module} ORDER BY guest LIMIT 1`)
    if (!claim) return false
    yield* (this.#handlers.get(module) as ClaimHandler)(claim)
    yield* run(sql`DELETE FROM mortise_claim WHERE module = ${module} AND guest = ${claim.guest}`)
    return true
  }
}
