import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Largest body in bytes: 200 items of maximum length, escaped, take 314,200. */
export const BODY_LIMIT = 384 * 1024

/**
 * Called for a response sent before the body of its request has arrived. It closes the connection
 * unless the body declares a small length, because Node would otherwise read the rest only to drop
 * it. A client that expected `100-continue` may send no body.
 */
export function discardBody(response: ServerResponse): void {
  const { headers, socket } = response.req
  const { 'content-length': length = '0', 'transfer-encoding': coding, expect } = headers
  if (length === '0' && coding === undefined) return
  socket.destroySoon = () => lingeringClose(socket)
  if (coding !== undefined || expect !== undefined || Number(length) > BODY_LIMIT)
    response.shouldKeepAlive = false
}

/**
 * How long, in milliseconds, and with how many more bytes a client may continue to send after its
 * response.
 */
const LINGER = { milliseconds: 1_000, bytes: 4 * 1024 * 1024 }

/**
 * Ends a connection after the pending output and drops further input: a close with unread bytes is
 * a reset, which may overtake the response (RFC 9112, 9.6). Later input is not parsed as HTTP.
 */
export function lingeringClose(socket: Socket): void {
  const most = socket.bytesRead + LINGER.bytes
  socket.removeAllListeners('data')
  // Node's parser releases the connection to a `data` listener.
  socket.on('data', () => {
    if (socket.bytesRead > most) socket.destroy()
  })
  socket.resume()
  socket.end()
  const cut = setTimeout(() => socket.destroy(), LINGER.milliseconds).unref()
  socket.once('close', () => clearTimeout(cut))
}
