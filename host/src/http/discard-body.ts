import type { ServerResponse } from 'node:http'
import { lingeringClose } from './lingering-close.ts'

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
