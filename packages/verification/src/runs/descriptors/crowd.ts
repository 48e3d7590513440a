import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const REQUEST = 'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n'
/** A connection gets a response or is closed within this time, in milliseconds. */
const PATIENCE = 8_000

/** Connections that send one request and then stay open. */
export class Crowd {
  readonly #port: number
  readonly failures: string[] = []
  #sockets: Socket[] = []
  kept = 0
  /** At once, or after a refusal. */
  closed = 0

  constructor(url: string) {
    this.#port = Number(new URL(url).port)
  }

  async come(many: number): Promise<void> {
    await Promise.all(Array.from({ length: many }, () => this.#comeOne()))
  }

  leave(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy()
  }

  async #comeOne(): Promise<void> {
    const socket = connect(this.#port, '127.0.0.1')
    this.#sockets.push(socket)
    const closed = new Promise<'closed'>((resolve) => socket.once('close', () => resolve('closed')))
    socket.on('error', () => {})
    socket.write(REQUEST)
    const responded = once(socket, 'data').then(
      ([data]) => (String(data).startsWith('HTTP/1.1 200') ? ('served' as const) : 'closed'),
      () => 'closed' as const,
    )
    const outcome = await Promise.race([
      responded,
      closed,
      pause(PATIENCE, 'neither' as const, { ref: false }),
    ])
    if (outcome === 'neither') this.failures.push('a connection was neither served nor closed')
    else if (outcome === 'served') this.kept += 1
    else this.closed += 1
  }
}
