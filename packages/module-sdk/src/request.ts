import type { Static, TSchema } from '@sinclair/typebox'
import type { Audit } from './audit.ts'
import type { StreamedEvents, StreamLimits } from './event-stream.ts'
import type { ProblemDetails } from './problem.ts'
import type { RouteResponse, Transaction } from './transaction.ts'

/**
 * The access to a route, in `config.access`: everyone, without authentication (`public`), any
 * caller, including guests (`caller`), or a signed-in caller whose token has this scope
 * (`purchase:manage`). The host rejects a route without `access`.
 */
export type Access = 'public' | 'caller' | 'admin' | `${string}:${string}`

/** The user or guest of a request. */
export interface Caller {
  /**
   * Unique over guests and the users of all issuers, at most 1,024 characters. It is the owner of
   * what the caller creates.
   */
  readonly id: string
  readonly kind: 'user' | 'guest'
  /** Whether the caller's token has `scope`. A token with `admin` has every scope. */
  has(scope: string): boolean
  /**
   * What verified the token, for `trusts` of the context: store it with what outlives the request.
   * Nothing in it is secret. Undefined for a guest.
   */
  readonly proof?: string | undefined
}

/** A page of a list, before the host adds links. */
export interface Page<Item> {
  readonly data: Item[]
  readonly page: number
  readonly rpp: number
  /** The number of items in the whole list, or the largest that is counted. */
  readonly total: number
  /** False: the list has more items than `total`. */
  readonly totalIsExact: boolean
  /**
   * The state of the list at the start of the walk. It goes into the links, so that a walk neither
   * repeats nor skips items. See `walkQuery`.
   */
  readonly until?: string | undefined
}

/** The rows of a list after a cursor, before the host adds the link. See `cursorQuery`. */
export interface CursorPage<Item extends { readonly id: string }> {
  readonly data: Item[]
  readonly rpp: number
  /** Whether more rows follow. To know, read `rpp + 1` rows. */
  readonly more: boolean
}

/** The return type of `reply.paged`. */
export interface LinkedPage<Item> {
  data: Item[]
  page: number
  rpp: number
  total: number
  totalIsExact: boolean
  pages: number
}

/**
 * A resource for If-Match: its `id`, or null if it does not exist yet, and a `version` that
 * increases with every change.
 */
export interface Versioned {
  readonly id: string | null
  readonly version: number
}

/** The resource that a write changes: its GET returns the `ETag`. */
export interface IfMatch {
  /** Its name in the OpenAPI document: `the cart`. */
  readonly resource: string
  /**
   * Finds the resource, or throws if there is none. The host calls it for a request with
   * `If-Match`. On a route with `attachValidation` it also calls it for an invalid body, because
   * 404 comes before 412 and 400.
   * @param id the path parameter `id`; '' on a path without one
   */
  find(caller: Caller, id: string): Transaction<Versioned>
}

/**
 * What the steps of a route return, by its response schemas: a response with a declared status, or
 * the body of a declared 200. Problems are thrown.
 */
export type Returned<Schema> = Schema extends { readonly response: infer Responses }
  ? { [Status in keyof Responses]: ReturnedAs<Status, Responses[Status]> }[keyof Responses]
  : unknown

/** A spread makes strings of statuses. One such as `2xx` allows everything. */
type ReturnedAs<Status, Schema> = `${Status & (string | number)}` extends `${infer Code extends number}`
  ? RouteResponse<Code, Sent<Schema>> | (200 extends Code ? Sent<Schema> : never)
  : unknown
type Sent<Schema> = Schema extends TSchema ? Static<Schema> : unknown

/** An error response in the form of another protocol. */
export interface ForeignProblem {
  /** The status, 400 to 599; that of the problem if absent. */
  readonly status?: number
  /** Its media type; `application/json` if absent. */
  readonly contentType?: string
  /** Sent as JSON. */
  readonly body: unknown
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access: Access
    /**
     * The resource that the host compares `If-Match` with, before the steps of
     * `request.transaction` run. Without it, the host rejects a write that has the header.
     */
    ifMatch?: IfMatch
    /**
     * False: a write with an `Idempotency-Key` is refused with 400, before the handler. For a route
     * that does not end with `request.transaction`, which would ignore the key.
     */
    idempotencyKey?: false
    /**
     * The form of every error response of this route, for a protocol that prescribes one: those of
     * validation and of the host too, such as `idempotency-mismatch`. It may run several times, and
     * has no effects. If it throws, problem details are sent. Declare its responses in the schema.
     */
    problemForm?: (problem: ProblemDetails) => ForeignProblem
    /**
     * False: assistants get no tool for this route, as in `api-mcp`; `x-tool` in the OpenAPI document.
     * For what a person should do.
     */
    tool?: false
  }
  interface FastifyRequest<
    RouteGeneric,
    RawServer,
    RawRequest,
    SchemaCompiler,
    TypeProvider,
    ContextConfig,
    Logger,
    RequestType,
  > {
    /**
     * The caller of the request. Reading it on a `public` route throws. A new guest owns nothing,
     * and the first successful `transaction` stores it.
     */
    readonly caller: Caller
    /**
     * Runs a write and sends its response. A route ends with `return request.transaction(…)`.
     * `steps` returns the body of a 200, or `respond(status, body, headers)`. The whole write is
     * this one transaction. Any error from `steps` rolls it back; a Problem becomes the response.
     *
     * With an `Idempotency-Key` the write takes effect once, and repeated requests get the same
     * response. Before `steps` it compares `If-Match`, and on a route with `attachValidation` it
     * rejects an invalid body. It resolves, without a value, when the response is on its way.
     *
     * With `dryRun` the response is the same, and nothing is stored: no effect, no new guest, and an
     * `Idempotency-Key` stays free.
     */
    transaction(
      steps: () => Transaction<Returned<SchemaCompiler>>,
      options?: { readonly dryRun?: boolean | undefined },
    ): Promise<void>
    /**
     * Whether the caller's credentials still hold: an unexpired token, or a guest that exists and
     * has not signed in. False for a new guest. Check it from time to time in a long response.
     * @throws {DatabaseError | Problem} if the database or the token's issuer is unavailable
     */
    credentialsHold(): Promise<boolean>
    /**
     * Records what the caller does. A step of `transaction`. A `public` route has no caller to
     * record.
     */
    readonly audit: Audit
  }
  interface FastifyReply {
    /** Adds `pages` and the `Link` header (RFC 8288) to a page. The route returns the result. */
    paged<Item>(page: Page<Item>): LinkedPage<Item>
    paged<Item extends { readonly id: string }>(
      page: Page<Item> | CursorPage<Item>,
    ): Pick<LinkedPage<Item>, 'data' | 'rpp'> & Partial<LinkedPage<Item>>
    /**
     * Streams the caller's events as Server-Sent Events, from any host. A route for callers ends with
     * `return reply.streamEvents({ types })`, and has `...eventStream` in its schema. A client that
     * comes back with the `Last-Event-ID` that it got misses no event.
     *
     * The stream ends, and its client comes back, when another generation takes over, the host stops
     * or the credentials end. It reads only as fast as its client does.
     * @throws {Problem} see `streamProblems`
     */
    streamEvents(wanted?: StreamedEvents): Promise<void>
    /**
     * Takes a place among the open streams of the caller and the address, until the response closes.
     * Call it before a response that stays open. One that has not called it takes its place after ten
     * seconds, and is cut off if there is none. The host ends the response with the credentials of the
     * caller: see `credentialsHold`.
     * @throws {Problem} see `streamProblems`
     */
    holdOpen(limits?: Partial<StreamLimits>): void
  }
}
