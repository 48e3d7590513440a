import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { GUEST_LIFETIME } from './guests.ts'

/** The cookie that carries a guest's token in a browser. */
export class GuestCookie {
  /** With https the `__Host-` prefix: browsers then take it from this host alone, never from a sibling domain. */
  readonly name: 'guest' | '__Host-guest'
  readonly #attributes: CookieSerializeOptions

  constructor(publicUrl: string | undefined) {
    const secure = publicUrl?.startsWith('https:') === true
    this.name = secure ? '__Host-guest' : 'guest'
    this.#attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure }
  }

  /**
   * What the request has under the cookie's name, undefined for nothing. Several different values, which
   * only another site of the same domain can have planted, come out joined and thus as no valid token:
   * there is no telling which is the caller's.
   */
  read({ headers: { cookie } }: FastifyRequest): string | undefined {
    if (!cookie?.includes(this.name)) return undefined
    const values = new Set<string>()
    for (const pair of cookie.split(';')) {
      const equals = pair.indexOf('=')
      if (equals !== -1 && pair.slice(0, equals).trim() === this.name)
        values.add(pair.slice(equals + 1).trim())
    }
    return values.size === 0 ? undefined : [...values].join(';')
  }

  write(reply: FastifyReply, token: string): void {
    reply.setCookie(this.name, token, { ...this.#attributes, maxAge: GUEST_LIFETIME / 1000 })
  }

  clear(reply: FastifyReply): void {
    reply.clearCookie(this.name, this.#attributes)
  }
}
