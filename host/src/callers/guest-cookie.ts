import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hostProblems } from '../http/problems.ts'
import { GUEST_LIFETIME } from './guests.ts'

export interface GuestCookieOptions {
  /** The origin that callers use, if configured. */
  readonly publicUrl?: string | undefined
  /** Other origins whose pages may send anything: those of CORS. */
  readonly origins?: readonly string[] | undefined
}

/** The cookie that carries a guest's token in a browser. */
export class GuestCookie {
  /** Browsers accept `__Host-` from this host alone, never from a sibling domain. */
  readonly name: 'guest' | '__Host-guest'
  readonly #attributes: CookieSerializeOptions
  readonly #hasPublicUrl: boolean
  readonly #trusted: ReadonlySet<string | undefined>

  constructor({ publicUrl, origins = [] }: GuestCookieOptions) {
    const secure = publicUrl?.startsWith('https:') === true
    this.#hasPublicUrl = publicUrl !== undefined
    this.#trusted = new Set([publicUrl, ...origins])
    this.name = secure ? '__Host-guest' : 'guest'
    this.#attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }

  /** The distinct values of the cookie in the request: a sibling domain can plant more of them. */
  read({ headers: { cookie } }: FastifyRequest): readonly string[] {
    if (!cookie?.includes(this.name)) return []
    const values = new Set<string>()
    for (const pair of cookie.split(';')) {
      const equals = pair.indexOf('=')
      if (equals !== -1 && pair.slice(0, equals).trim() === this.name)
        values.add(pair.slice(equals + 1).trim())
    }
    return [...values]
  }

  /**
   * Call it before the work of a request that sets the cookie, or that clears the cookie of a known
   * guest: a form on another site could otherwise replace the browser's guest, whose cart and
   * purchases would then be out of reach.
   *
   * @throws {Problem} `cross-site`
   */
  assertOwnSite(request: FastifyRequest): void {
    if (this.#isOfOwnSite(request)) return
    throw hostProblems.create(
      'cross-site',
      'A page of another site sent this request, and the response would set or clear the guest cookie; nothing was done. Send the request from a page of this site, or with a Guest-Token or bearer token. If the page is yours, add its origin to publicUrl or cors.origins.',
    )
  }

  /**
   * False for requests that a browser sends for a page of another site. `Sec-Fetch-Site` decides if
   * present: it is the browser's own decision, and other origins of the same site pass. Browsers
   * omit it over plain HTTP, and old ones always do. Then `Origin` must be `publicUrl` or, if none
   * is configured, must have the requested host, which owns the cookie. A page can forge none of
   * these. Clients other than browsers send neither header and pass.
   */
  #isOfOwnSite({ headers, host }: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = headers
    if (origin !== undefined && this.#trusted.has(origin)) return true
    // Node joins repeated values with commas, and a browser sends no other value.
    if (site !== undefined) return site === 'same-origin' || site === 'same-site' || site === 'none'
    if (origin === undefined) return true
    return !this.#hasPublicUrl && URL.parse(origin)?.host === host.toLowerCase()
  }

  write(reply: FastifyReply, token: string): void {
    reply.setCookie(this.name, token, { ...this.#attributes, maxAge: GUEST_LIFETIME / 1000 })
  }

  clear(reply: FastifyReply): void {
    reply.clearCookie(this.name, this.#attributes)
  }
}
