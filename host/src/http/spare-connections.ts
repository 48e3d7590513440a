import type { Socket } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import { problemBytes } from './refuse-connection.ts'

/** How long such a connection may stay without a request, in milliseconds. */
const SPARE_TIME = 2_000

/** Connections beyond a limit: one request each, which is refused unless it asks for health. */
export class SpareConnections {
  readonly #most: number
  readonly #refusal: (socket: Socket) => Problem
  readonly #open = new Set<Socket>()
  /** Those without a request, the oldest first, each with the timer that ends it. */
  readonly #silent = new Map<Socket, NodeJS.Timeout>()

  /**
   * @param most that are open at once: the oldest without a request makes room for the next one
   * @param refusal what it is answered then
   */
  constructor(most: number, refusal: (socket: Socket) => Problem) {
    this.#most = most
    this.#refusal = refusal
  }

  add(socket: Socket): void {
    if (this.#open.size >= this.#most) {
      const [oldest = socket] = this.#silent.keys()
      this.#refuse(oldest)
      if (oldest === socket) return
    }
    this.#open.add(socket)
    this.#silent.set(socket, setTimeout(() => this.#refuse(socket), SPARE_TIME).unref())
    socket.once('close', () => {
      this.#forget(socket)
      this.#open.delete(socket)
    })
  }

  /** A request has come. @returns whether its connection is one of these */
  ask(socket: Socket): boolean {
    if (!this.#open.has(socket)) return false
    this.#forget(socket)
    return true
  }

  #refuse(socket: Socket): void {
    this.#forget(socket)
    this.#open.delete(socket)
    socket.write(problemBytes(this.#refusal(socket)))
    socket.destroySoon()
  }

  #forget(socket: Socket): void {
    clearTimeout(this.#silent.get(socket))
    this.#silent.delete(socket)
  }
}
