import type { FastifyRequest } from 'fastify'

export interface OwnSiteOptions {
  /** The origin that callers use, where it is configured. */
  readonly publicUrl?: string | undefined
  /** Other origins whose pages may send anything: those of CORS. */
  readonly origins?: readonly string[] | undefined
}

/**
 * Tells requests that a browser sends for a page of another site. `Sec-Fetch-Site` decides where there is one: it is the
 * browser's own judgement, and other origins of the same site pass. Browsers leave it out over plain HTTP, and old ones
 * always: then `Origin` must be `publicUrl` or, where none is configured, have the host that the browser asked, whose
 * cookie it is. A page can forge none of these. Clients that are no browsers send neither header, and pass.
 */
export class OwnSite {
  readonly #hasPublicUrl: boolean
  readonly #trusted: ReadonlySet<string | undefined>

  constructor({ publicUrl, origins = [] }: OwnSiteOptions) {
    this.#hasPublicUrl = publicUrl !== undefined
    this.#trusted = new Set([publicUrl, ...origins])
  }

  sends({ headers, host }: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = headers
    if (origin !== undefined && this.#trusted.has(origin)) return true
    // Node joins several with commas, and any other value is none of a browser's.
    if (site !== undefined) return site === 'same-origin' || site === 'same-site' || site === 'none'
    if (origin === undefined) return true
    return !this.#hasPublicUrl && URL.parse(origin)?.host === host.toLowerCase()
  }
}
