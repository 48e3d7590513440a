import type { Caller } from '@mortise/module-sdk'
import { insufficientScope } from './bearer.ts'
import type { User } from './user.ts'

/** A user in one request. It records the scopes found, because the response may depend on them. */
export class ScopeRecordingUser implements Caller {
  readonly kind = 'user'
  readonly id: string
  readonly proof: string
  readonly #user: User
  readonly #found = new Set<string>()

  constructor(user: User) {
    this.id = user.id
    this.proof = user.proof
    this.#user = user
    Object.freeze(this)
  }

  has(scope: string): boolean {
    const isFound = this.#user.has(scope)
    if (isFound) this.#found.add(scope)
    return isFound
  }

  /** The requested scopes that the user has. */
  found(): readonly string[] {
    return [...this.#found]
  }

  /** @throws {Problem} 403 for the first scope that the user lacks */
  assertAll(scopes: readonly string[]): void {
    const missing = scopes.find((scope) => !this.#user.has(scope))
    if (missing !== undefined) throw insufficientScope(missing)
  }
}
