import type { FastifyRequest } from 'fastify'
import { invalidRequest } from './common-problems.ts'
import type { OperatorRequest } from './operator.ts'

/** Headers about one message or its connection; a cookie is for a page alone. All others are about the client. */
const OF_THE_MESSAGE =
  /^(accept|connection|cookie|expect|idempotency-key|keep-alive|last-event-id|prefer|range|te|trailer|transfer-encoding|upgrade)$|^(accept|content|if|mcp|proxy)-/

/**
 * A request of the application to itself, for the client of `request`: for `app.inject`, or for
 * `operator.call`. It has what a route may decide by: the client's address, credentials, and what
 * proxies have added, but no cookie.
 * @param call its path without the base path; its headers are added
 * @throws {Problem} `invalid-request` for a path that would be routed as another one
 */
export function callFor(
  { headers, socket }: Pick<FastifyRequest, 'headers' | 'socket'>,
  call: Omit<OperatorRequest, 'remoteAddress'>,
): OperatorRequest & { readonly headers: Record<string, string> } {
  if (!isRoutedAsWritten(call.path))
    throw invalidRequest({
      parameter: 'path',
      detail: 'No part of the path may be . or .., and it contains no \\, # or control character.',
    })
  const ofClient = Object.entries(headers).filter(([name]) => !OF_THE_MESSAGE.test(name))
  return {
    ...call,
    headers: {
      ...Object.fromEntries(ofClient.map(([name, value]) => [name, String(value)])),
      ...call.headers,
    },
    remoteAddress: socket.remoteAddress ?? '',
  }
}

/** Whether the URL parser, through which every such request goes, leaves each part of the path as it is. */
function isRoutedAsWritten(path: string): boolean {
  const [written = ''] = path.split('?')
  const routed = URL.parse(`http://localhost${path}`)
  return (
    written.startsWith('/') &&
    !path.includes('#') &&
    routed !== null &&
    partsOf(routed.pathname).join() === partsOf(written).join()
  )
}

const partsOf = (path: string) => path.split('/').map((part) => encodeURIComponent(decoded(part)))

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
