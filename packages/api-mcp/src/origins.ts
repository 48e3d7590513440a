import {
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import { problem } from './module.ts'

/**
 * Refuses a page of another site, and a foreign name of this machine (DNS
 * rebinding). Clients that are no browsers send no `Origin`. Behind a proxy the name is the proxy's
 * business.
 * @param origins allowed besides this machine: `https://chat.example`
 * @throws {Problem} `foreign-origin`
 */
export function assertOwnOrigin({ headers, socket }: FastifyRequest, origins: readonly string[]): void {
  const { host, origin = '' } = headers
  const local = localhostAllowedHostnames()
  const isDirect = headers['x-forwarded-for'] === undefined && isLoopback(socket.localAddress)
  const hasOwnName = !isDirect || validateHostHeader(host, local).ok
  if (hasOwnName && (origins.includes(origin) || validateOriginHeader(headers.origin, local).ok)) return
  throw problem(
    'foreign-origin',
    `The request comes from ${origin || host}: the operator can allow it with the setting origins of api-mcp.`,
  )
}

const isLoopback = (address = '') => address === '::1' || /^(::ffff:)?127\./.test(address)
