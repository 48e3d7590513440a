import type { ServerResponse } from 'node:http'
import { BODY_LIMIT } from './body-limit.ts'
import { lingeringClose } from './lingering-close.ts'

/**
 * Called with an answer that is made before the body of its request has come. The connection ends with it, unless the
 * body says that it is small: Node would read any other on, to drop it. A sender who expected `100-continue` may send none.
 */
export function discardBody(response: ServerResponse): void {
  const { headers, socket } = response.req
  const { 'content-length': length = '0', 'transfer-encoding': coding, expect } = headers
  if (length === '0' && coding === undefined) return
  socket.destroySoon = () => lingeringClose(socket)
  if (coding !== undefined || expect !== undefined || Number(length) > BODY_LIMIT)
    response.shouldKeepAlive = false
}
