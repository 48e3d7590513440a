import type { Answer } from './answer.ts'
import type { Transaction } from './transaction.ts'

/**
 * Who may use a route, in `config.access`: everyone without being asked who they are (`public`), any
 * caller, guests included (`caller`), or a signed-in caller whose token has this scope
 * (`purchase:manage`). A route that states none is refused.
 */
export type Access = 'public' | 'caller' | 'admin' | `${string}:${string}`

/** Who is asking. */
export interface Caller {
  /** Unique over users of every issuer and guests. The owner of what the caller makes; at most 1,024 characters. */
  readonly id: string
  readonly kind: 'user' | 'guest'
  /** Whether the caller's token has `scope`; a token with `admin` has every scope. */
  has(scope: string): boolean
}

/** A page of a list, before the host puts its links around it. */
export interface Page<Item> {
  readonly data: Item[]
  readonly page: number
  readonly rpp: number
  /** How many items the whole list has. */
  readonly total: number
  /** The list as it stood: goes into the links, so that a walk neither repeats nor skips. See `walkQuery`. */
  readonly until?: string | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
  }
  interface FastifyRequest {
    /**
     * Who is asking; on a route whose access is `public` there is none, and reading it throws. Somebody new
     * is a guest who owns nothing yet, and is remembered by the first successful `transaction`.
     */
    readonly caller: Caller
    /**
     * Runs a write and sends the answer that it decides: `return request.transaction(…)` is how a route ends.
     * Everything a write needs happens in this one transaction; whatever `steps` throws undoes it, a
     * Problem becomes the answer. Resolves, with nothing, when the answer is on its way.
     */
    transaction(steps: () => Transaction<Answer>): Promise<void>
  }
  interface FastifyReply {
    /** Adds `pages` and the `Link` header (RFC 8288) to a page of a list; the route returns the result. */
    paged<Item>(page: Page<Item>): {
      data: Item[]
      page: number
      rpp: number
      total: number
      pages: number
    }
  }
}
