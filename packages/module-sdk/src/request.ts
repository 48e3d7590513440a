import type { Audit } from './audit.ts'
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

/** The rows of a list that follow a cursor, before the host puts its link around them. See `cursorQuery`. */
export interface CursorPage<Item extends { readonly id: string }> {
  readonly data: Item[]
  readonly rpp: number
  /** Whether rows follow these: ask for `rpp + 1` of them to know. */
  readonly more: boolean
}

/** What `reply.paged` makes of a page. */
export interface LinkedPage<Item> {
  data: Item[]
  page: number
  rpp: number
  total: number
  pages: number
}

/** A resource as If-Match knows it: its `id`, null for one that is not there yet, and a `version` that every change raises. */
export interface Versioned {
  readonly id: string | null
  readonly version: number
}

/** The resource that a write changes: the one whose GET has shown the `ETag`. */
export interface IfMatch {
  /** What it is called in the OpenAPI document: `the cart`. */
  readonly resource: string
  /**
   * Finds it, and throws where there is none. Asked only for a request with `If-Match`, and, on a route with
   * `attachValidation`, for one whose body is wrong: 404 comes before 412 and 400.
   *
   * @param id the path parameter `id`; '' on a path without one
   */
  find(caller: Caller, id: string): Transaction<Versioned>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /**
     * What `If-Match` is compared with, before the steps of `request.transaction` run. A write that has the header on a
     * route without this is refused.
     */
    ifMatch?: IfMatch
  }
  interface FastifyRequest {
    /**
     * Who is asking; on a route whose access is `public` there is none, and reading it throws. Somebody new
     * is a guest who owns nothing yet, and is remembered by the first successful `transaction`.
     */
    readonly caller: Caller
    /**
     * Runs a write and sends the answer that it decides: `return request.transaction(…)` is how a route ends. `steps`
     * returns the body of a 200, or `answer(status, body, headers)`.
     * Everything a write needs happens in this one transaction; whatever `steps` throws undoes it, a
     * Problem becomes the answer. With an `Idempotency-Key` it takes effect once, and repeated requests get the
     * same answer. Before `steps` it compares `If-Match` and, on a route with `attachValidation`, refuses a body that is
     * wrong. Resolves, with nothing, when the answer is on its way.
     */
    transaction(steps: () => Transaction<unknown>): Promise<void>
    /**
     * Whether what the caller has proved themselves by holds still: a token that has not expired, a guest who is there and
     * has not signed in; false for somebody new. For an answer that goes on for long: to be asked now and then.
     *
     * @throws {DatabaseError | Problem} where it cannot be known just now: the database or the token's issuer is away
     */
    credentialsHold(): Promise<boolean>
    /** Puts on record what the caller does here. A step of `transaction`; on a `public` route there is no caller. */
    readonly audit: Audit
  }
  interface FastifyReply {
    /** Adds `pages` and the `Link` header (RFC 8288) to a page of a list; the route returns the result. */
    paged<Item>(page: Page<Item>): LinkedPage<Item>
    paged<Item extends { readonly id: string }>(
      page: Page<Item> | CursorPage<Item>,
    ): Pick<LinkedPage<Item>, 'data' | 'rpp'> & Partial<LinkedPage<Item>>
  }
}
