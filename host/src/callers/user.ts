import type { Caller } from '@mortise/module-sdk'

/**
 * A signed-in caller. Its id is `user:`, the issuer encoded by encodeURIComponent, `:` and the
 * subject. The first two colons delimit, since an encoded issuer contains none, so no two users
 * share an id and no user has a guest's id. One frozen instance serves every request with the same
 * token.
 */
export class User implements Caller {
  readonly id: string
  readonly kind = 'user'
  readonly proof: string
  readonly #scopes: ReadonlySet<string>

  constructor(issuer: string, subject: string, scopes: Iterable<string>, proof: string) {
    this.id = `user:${encodeURIComponent(issuer)}:${subject}`
    this.proof = proof
    this.#scopes = new Set(scopes)
    Object.freeze(this)
  }

  /** The user of an id. */
  static of(id: string, scopes: Iterable<string>, proof: string): User {
    const [, issuer = '', ...subject] = id.split(':')
    return new User(decodeURIComponent(issuer), subject.join(':'), scopes, proof)
  }

  get scopes(): readonly string[] {
    return [...this.#scopes]
  }

  has(scope: string): boolean {
    return this.#scopes.has(scope) || this.#scopes.has('admin')
  }
}
