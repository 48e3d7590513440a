import type { FastifyRequest } from 'fastify'

export interface OwnSiteOptions {
  /** The origin that callers use, if configured. */
  readonly publicUrl?: string | undefined
  /** Other origins whose pages may send anything: those of CORS. */
  readonly origins?: readonly string[] | undefined
}

/**
 * Detects requests that a browser sends for a page of another site. `Sec-Fetch-Site` decides if
 * present: it is the browser's own decision, and other origins of the same site pass. Browsers omit
 * it over plain HTTP, and old ones always do. Then `Origin` must be `publicUrl` or, if none is
 * configured, must have the requested host, which owns the cookie. A page can forge none of these.
 * Clients other than browsers send neither header and pass.
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
    // Node joins repeated values with commas, and a browser sends no other value.
    if (site !== undefined) return site === 'same-origin' || site === 'same-site' || site === 'none'
    if (origin === undefined) return true
    return !this.#hasPublicUrl && URL.parse(origin)?.host === host.toLowerCase()
  }
}
