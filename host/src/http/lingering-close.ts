import type { Socket } from 'node:net'

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
