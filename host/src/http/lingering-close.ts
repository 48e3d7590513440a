import type { Socket } from 'node:net'

/** For how long, in milliseconds, and with how many bytes more a peer may go on sending after its answer. */
const LINGER = { milliseconds: 1_000, bytes: 4 * 1024 * 1024 }

/**
 * Ends a connection after what was written, and drops what its peer still sends: a close with bytes unread is a reset, which
 * may overtake the answer (RFC 9112, 9.6). Nothing is read as HTTP from then on.
 */
export function lingeringClose(socket: Socket): void {
  const most = socket.bytesRead + LINGER.bytes
  socket.removeAllListeners('data')
  // Node's parser gives up the connection to whoever listens.
  socket.on('data', () => {
    if (socket.bytesRead > most) socket.destroy()
  })
  socket.resume()
  socket.end()
  const cut = setTimeout(() => socket.destroy(), LINGER.milliseconds).unref()
  socket.once('close', () => clearTimeout(cut))
}
