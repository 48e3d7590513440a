import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inodeOf, socketSendQueues } from './send-queues.ts'

/** After how many looks a reader is given up. Looks and not time: nothing leaves while the event loop is held up. */
const LOOKS = 10
/** While others get no connection. */
const LOOKS_WHILE_FULL = 2
/** Connections that are looked at, or ended, in one turn of the event loop. */
const AT_ONCE = 50

interface Connected {
  readonly open: Iterable<Socket>
  /** Whether there is no connection for anybody else. */
  readonly isFull: boolean
}

interface Waiting {
  /** Bytes that the system has taken. */
  readonly sent: number
  /** Those of them that the reader had not taken at the first look that found nothing sent; undefined where nobody tells. */
  readonly queued: number | undefined
  /** For how many looks the reader has taken nothing. */
  readonly looks: number
}

/** What Node knows of a connection; its `socket.bytesWritten` counts what waits too. */
interface Handle {
  readonly fd: number
  readonly bytesWritten: number
  readonly writeQueueSize: number
}

/**
 * Ends the connections on which an answer waits while its reader takes nothing. One that takes a little is left alone:
 * the system may have megabytes of an answer, so that nothing leaves the process for long, and is asked then.
 */
export class StalledResponses {
  readonly #connections: Connected
  readonly #timer: NodeJS.Timeout
  #waiting = new Map<Socket, Waiting>()
  #isLooking = false
  /** How many were ended. */
  ended = 0

  /**
   * @param patience after how many milliseconds, about, such a connection is ended; while all are taken, after a
   *   third of it at most
   */
  constructor(connections: Connected, patience: number) {
    this.#connections = connections
    this.#timer = setInterval(() => void this.#look(), patience / LOOKS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const most = this.#connections.isFull ? LOOKS_WHILE_FULL : LOOKS
    const still = [...this.#connections.open].flatMap((socket) => {
      if (socket.writableLength === 0) return []
      const sent = sentBytes(socket)
      const before = this.#waiting.get(socket)
      return before?.sent === sent
        ? [{ socket, sent, queued: before.queued, looks: before.looks + 1 }]
        : [{ socket, sent, queued: undefined, looks: 0 }]
    })
    // While nothing is sent, the system's queue can only shrink: its length at the first look and the last tells enough.
    const isAsked = ({ looks }: Waiting) => looks === 1 || looks >= most
    const queues = still.some(isAsked) ? await socketSendQueues() : new Map<string, number>()
    this.#waiting = new Map()
    for (const [index, { socket, ...waiting }] of still.entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
      if (socket.destroyed) continue
      const queued = isAsked(waiting) ? queuedBytes(socket, queues) : waiting.queued
      if (waiting.looks < most) this.#waiting.set(socket, { ...waiting, queued })
      else if (queued === waiting.queued) this.#end(socket)
      else this.#waiting.set(socket, { ...waiting, queued, looks: 1 })
    }
    this.#isLooking = false
  }

  /** With a reset: else the system keeps what waits, for minutes. */
  #end(socket: Socket): void {
    this.ended += 1
    socket.resetAndDestroy()
  }
}

/** Node offers no public way to these. */
const handleOf = (socket: Socket) => (socket as unknown as { readonly _handle: Handle | null })._handle

function sentBytes(socket: Socket): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(socket) ?? {}
  return bytesWritten - writeQueueSize
}

const queuedBytes = (socket: Socket, queues: ReadonlyMap<string, number>) =>
  queues.get(inodeOf(handleOf(socket)?.fd ?? -1) ?? '')
