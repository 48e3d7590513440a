import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import { lingeringClose } from './discard-body.ts'
import { http } from './node-http.ts'
import { hostProblems } from './problems.ts'
import { isKnownVersion, requestId } from './request-head.ts'
import { constantHeaders } from './security-headers.ts'

/** As long as a head may be. */
const LONGEST = 8 * 1024
/** RFC 9112, 3, with any method. */
const requestLine = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e]+) HTTP\/(\d\.\d)\r?\n/

/** The error of Node's HTTP parser. */
interface ParserError extends NodeJS.ErrnoException {
  readonly reason?: string
  /** The bytes in which the parser stopped. */
  readonly rawPacket?: Buffer
  /** The number of bytes parsed before the error. */
  readonly bytesParsed?: number
}

/** Responds to a request with a method that no route can have, and ends the connection. */
export type RefuseMethod = (url: string, socket: Socket) => void

/** Connections refused already: each further byte on them raises the error again. */
const refused = new WeakSet<Socket>()

/**
 * Responds to what Node's HTTP parser refuses (`clientError`), and ends the connection. The refusal
 * follows the responses to earlier complete requests, and never replaces one.
 */
export function refuseConnection(error: ParserError, socket: Socket, refuseMethod: RefuseMethod): void {
  if (error.code === 'ECONNRESET') {
    socket.destroy()
  } else if (!refused.has(socket)) {
    refused.add(socket)
    refuseInTurn(error, socket, refuseMethod)
  }
}

function refuseInTurn(error: ParserError, socket: Socket, refuseMethod: RefuseMethod): void {
  // Node keeps a connection's current response here and has no public API for it.
  const { _httpMessage: pending } = socket as { _httpMessage?: ServerResponse | null }
  // The head was refused, and the connection ends with that response.
  if (pending?.writableEnded && !pending.shouldKeepAlive) return
  if (!socket.writable || (pending?.headersSent && !pending.req.complete)) {
    socket.destroy()
  } else if (pending?.req.complete) {
    pending.once('close', () => refuseInTurn(error, socket, refuseMethod))
  } else {
    const line = lineOf(error)
    if (line !== undefined && !pending && isKnownVersion(line.version) && !http.METHODS.includes(line.method))
      refuseMethod(line.url, socket)
    else {
      socket.write(problemBytes(problemOf(error, line)))
      lingeringClose(socket)
    }
  }
}

/** A complete problem response, for a connection without a request. */
export function problemBytes(problem: Problem): string {
  const id = requestId({ headers: {} })
  const body = JSON.stringify(problem.toDetails(id))
  return [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    `request-id: ${id}`,
    `date: ${new Date().toUTCString()}`,
    'connection: close',
    ...Object.entries({ ...problem.headers, ...constantHeaders }).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n')
}

/** The request line at which the parser stopped, possibly one of several; undefined without one. */
function lineOf({ code, rawPacket, bytesParsed = 0 }: ParserError) {
  if (rawPacket === undefined || !isOfLine.test(code ?? '')) return undefined
  const start = rawPacket.subarray(0, bytesParsed).lastIndexOf('\n') + 1
  const text = rawPacket.toString('latin1', start, start + LONGEST)
  const [, method, url, version] = requestLine.exec(text) ?? []
  return method && url && version ? { method, url, version } : undefined
}

function problemOf({ code, reason }: ParserError, line: ReturnType<typeof lineOf>): Problem {
  switch (code) {
    case 'HPE_INVALID_TRANSFER_ENCODING':
      // The same code stands for one beside a Content-Length, and for an empty one.
      return isUnknownCoding.test(reason ?? '')
        ? hostProblems.create('unsupported-transfer-encoding')
        : malformed()
    case 'HPE_HEADER_OVERFLOW':
      return hostProblems.create('header-fields-too-large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return hostProblems.create('request-timeout')
    default: {
      const isOther =
        code === 'HPE_PAUSED_H2_UPGRADE' || (line !== undefined && !isKnownVersion(line.version))
      return isOther ? hostProblems.create('http-version-not-supported') : malformed()
    }
  }
}

/** An unknown method, one of another protocol (RTSP), or a version. */
const isOfLine = /^HPE_INVALID_(?:METHOD|CONSTANT|VERSION)$/
const isUnknownCoding = /invalid `transfer-encoding`/i
const malformed = () => hostProblems.create('invalid-request', 'This is not well-formed HTTP/1.1.')
