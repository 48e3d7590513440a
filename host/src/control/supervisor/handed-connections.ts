import type { ChildProcess } from 'node:child_process'

interface Handle {
  close(): void
}

/** The message with which node:cluster hands a worker a connection, and its reply. */
interface Handed {
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * Connections handed to a worker that it has not accepted yet. node:cluster forgets them if the
 * worker is killed before, for example because it hangs: their clients would wait forever.
 */
export class HandedConnections {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Handle>()

  constructor(process: ChildProcess) {
    this.#process = process
    const send = process.send.bind(process) as (...parameters: unknown[]) => boolean
    process.send = (message: Handed, ...more: unknown[]) => {
      if (message.act === 'newconn' && message.seq !== undefined)
        this.#waiting.set(message.seq, more[0] as Handle)
      return send(message, ...more)
    }
    process.on('internalMessage', ({ ack }: Handed) => void (ack !== undefined && this.#waiting.delete(ack)))
  }

  /** Notifies node:cluster that the ended worker did not accept them: other workers get them. */
  passOn(): void {
    for (const ack of [...this.#waiting.keys()])
      this.#process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
  }

  /** The last worker has ended: closes the connections. */
  close(): void {
    for (const handle of this.#waiting.values()) handle.close()
    this.#waiting.clear()
  }
}
