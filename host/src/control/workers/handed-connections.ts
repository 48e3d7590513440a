import type { ChildProcess } from 'node:child_process'

interface Handle {
  close(): void
}

/** What node:cluster sends a worker with a connection, and gets back once the worker has taken it, or not. */
interface Handed {
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * The connections that a worker was handed and has not taken yet. node:cluster forgets them where the worker is killed
 * before it takes them, as one that hangs is: their callers would wait for ever.
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

  /** The worker has ended: says to node:cluster, in its place, that it has not taken them, so that others are handed them. */
  passOn(): void {
    for (const ack of [...this.#waiting.keys()])
      this.#process.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
  }

  /** The worker has ended, and there is no other: closes them. */
  close(): void {
    for (const handle of this.#waiting.values()) handle.close()
    this.#waiting.clear()
  }
}
