import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { hostProblems } from './problems.ts'
import { requestId } from './request-id.ts'
import { constantHeaders } from './security-headers.ts'

/** How long a refused connection may go on sending before it is cut, in milliseconds. */
const LINGER = 1_000

/** The connections that are refused already: each further byte on them is an error again. */
const refused = new WeakSet<Duplex>()

/**
 * Answers what Node's HTTP parser refuses (`clientError`), and ends the connection. The refusal stands
 * after the answers to the requests that came whole before it, never in the place of one.
 */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET') {
    socket.destroy()
  } else if (!refused.has(socket)) {
    refused.add(socket)
    refuseInTurn(error, socket)
  }
}

function refuseInTurn(error: NodeJS.ErrnoException, socket: Duplex): void {
  // Node keeps the response that a connection is at here, and offers no public way to it.
  const { _httpMessage: pending } = socket as { _httpMessage?: ServerResponse | null }
  if (!socket.writable || (pending?.headersSent && !pending.req.complete)) {
    socket.destroy()
  } else if (pending?.req.complete) {
    pending.once('close', () => refuseInTurn(error, socket))
  } else {
    socket.end(refusal(error))
    const cut = setTimeout(() => socket.destroy(), LINGER).unref()
    socket.once('close', () => clearTimeout(cut))
  }
}

function refusal(error: NodeJS.ErrnoException): string {
  const problem = problemOf(error)
  const id = requestId({ headers: {} })
  const body = JSON.stringify(problem.toDetails(id))
  return [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `request-id: ${id}`,
    `date: ${new Date().toUTCString()}`,
    'connection: close',
    ...Object.entries(constantHeaders).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n')
}

function problemOf({ code }: NodeJS.ErrnoException) {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return hostProblems.create(
        'header-fields-too-large',
        'Path, query and headers together are larger than 8 KiB; send less.',
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return hostProblems.create('request-timeout', 'The request did not arrive in time; send it again.')
    default:
      return hostProblems.create('invalid-request', 'This is not well-formed HTTP/1.1.')
  }
}
