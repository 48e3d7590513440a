import { readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Connections } from './http-connections.ts'

/**
 * Checks without progress before a client is cut off. Checks, not time: nothing is sent while the
 * event loop is blocked.
 */
const LOOKS = 10
/** The same while no connection is free for others. */
const LOOKS_WHILE_FULL = 2
/** Connections checked or ended per turn of the event loop. */
const AT_ONCE = 50

type Connected = Pick<Connections, 'open' | 'isFull'>

interface Waiting {
  /** Bytes handed to the system. */
  readonly sent: number
  /**
   * Bytes in the system's send queue at the first check without new output; undefined if unknown.
   */
  readonly queued: number | undefined
  /** Checks in which the client has read nothing. */
  readonly looks: number
}

/** Node's data on a connection; its `socket.bytesWritten` includes buffered bytes. */
interface Handle {
  readonly fd: number
  readonly bytesWritten: number
  readonly writeQueueSize: number
}

/**
 * Ends connections with a waiting response whose client reads nothing. A client that reads slowly
 * stays: the system may buffer megabytes, so output from the process can pause for long. Then the
 * system's send queue decides.
 */
export class StalledResponses {
  readonly #connections: Connected
  readonly #timer: NodeJS.Timeout
  #waiting = new Map<Socket, Waiting>()
  #isLooking = false
  /** Connections ended so far. */
  ended = 0

  /**
   * @param patience the time without progress, in milliseconds, after about which a connection
   * ends; at most a third of it while all connections are taken
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
    // Without new output the system's queue only shrinks, so its length at the first and the last
    // check is enough.
    const isAsked = ({ looks }: Waiting) => looks === 1 || looks >= most
    const queues = still.some(isAsked) ? await socketSendQueues() : new Map<string, number>()
    this.#waiting = new Map()
    for (const [index, { socket, ...waiting }] of still.entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
      if (socket.destroyed) continue
      const queued = isAsked(waiting) ? queuedBytes(socket, queues) : waiting.queued
      if (waiting.looks < most) this.#waiting.set(socket, { ...waiting, queued })
      else if (queued === waiting.queued) {
        this.ended += 1
        // With a reset, because the system otherwise keeps the buffered bytes for minutes.
        socket.resetAndDestroy()
      } else this.#waiting.set(socket, { ...waiting, queued, looks: 1 })
    }
    this.#isLooking = false
  }
}

/** Node has no public API for these. */
const handleOf = (socket: Socket) => (socket as unknown as { readonly _handle: Handle | null })._handle

function sentBytes(socket: Socket): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(socket) ?? {}
  return bytesWritten - writeQueueSize
}

/** Undefined if the system does not provide it. */
function queuedBytes(socket: Socket, queues: ReadonlyMap<string, number>): number | undefined {
  try {
    const inode = readlinkSync(`/proc/self/fd/${handleOf(socket)?.fd}`)
    return queues.get(/^socket:\[(\d+)\]$/.exec(inode)?.[1] ?? '')
  } catch {
    return undefined
  }
}

/** Linux tables of TCP sockets, see proc_net_tcp in its documentation. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
/**
 * A connected socket (01), or one whose peer has finished sending (08): its send queue in
 * hexadecimal digits, and its inode.
 */
const CONNECTED = /: \S+ \S+ 0[18] ([\dA-F]+):\S+ \S+ \S+ +\d+ +\d+ (\d+)/g

/** Rows parsed per turn of the event loop: about a millisecond. */
const ROWS = 200

/**
 * The unacknowledged bytes of each TCP connection in the system's send queue, by the inode of the
 * socket. Empty on systems other than Linux.
 */
async function socketSendQueues(): Promise<ReadonlyMap<string, number>> {
  const queues = new Map<string, number>()
  for (const path of TABLES) {
    const table = await readFile(path, 'latin1').catch(() => '')
    let rows = 0
    for (const [, bytes = '', inode = ''] of table.matchAll(CONNECTED)) {
      queues.set(inode, Number.parseInt(bytes, 16))
      rows += 1
      if (rows % ROWS === 0) await nextTurn()
    }
  }
  return queues
}
