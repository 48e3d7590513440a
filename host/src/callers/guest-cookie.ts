import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OwnSite, type OwnSiteOptions } from '../http/own-site.ts'
import { hostProblems } from '../http/problems.ts'
import { GUEST_LIFETIME } from './guests.ts'

/** The cookie that carries a guest's token in a browser. */
export class GuestCookie {
  /** Browsers accept `__Host-` from this host alone, never from a sibling domain. */
  readonly name: 'guest' | '__Host-guest'
  readonly #attributes: CookieSerializeOptions
  readonly #ownSite: OwnSite

  constructor(options: OwnSiteOptions) {
    const secure = options.publicUrl?.startsWith('https:') === true
    this.#ownSite = new OwnSite(options)
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
    if (this.#ownSite.sends(request)) return
    throw hostProblems.create(
      'cross-site',
      'A page of another site sent this request, and the response would set or clear the guest cookie; nothing was done. Send the request from a page of this site, or with a Guest-Token or bearer token. If the page is yours, add its origin to publicUrl or cors.origins.',
    )
  }

  write(reply: FastifyReply, token: string): void {
    reply.setCookie(this.name, token, { ...this.#attributes, maxAge: GUEST_LIFETIME / 1000 })
  }

  clear(reply: FastifyReply): void {
    reply.clearCookie(this.name, this.#attributes)
  }
}
