import type { FastifyRequest } from 'fastify'
import { problem } from './module.ts'

/**
 * Refuses what a page of another origin could send with the cookie. Such a page cannot set the
 * header without asking first, and a browser names the origin.
 * @throws {Problem} `foreign-request`
 */
export function assertFromPage({ headers }: FastifyRequest): void {
  const { 'x-console': own, 'sec-fetch-site': site, origin, host } = headers
  const isOwn = site === undefined ? hostOf(origin) === host : site === 'same-origin'
  if (own === undefined || !isOwn) throw problem('foreign-request')
}

const hostOf = (origin = '') => URL.parse(origin)?.host
