import type { Socket } from 'node:net'
import type { AddressList, Problem } from '@mortise/module-sdk'
import type { ConcurrencyLimit } from './limits/concurrency-limit.ts'
import { problemBytes } from './refuse-connection.ts'
import { busy, tooManyConnections } from './too-many.ts'

export interface ConnectionsOptions {
  /** How many there are for any request. */
  readonly maxConnections: number
  /** How many each address has of them; without, any number. */
  readonly shares?: ConcurrencyLimit | undefined
  /** Addresses whose connections are those of many callers, and have no share. */
  readonly proxies?: AddressList | undefined
  /** Told of each connection that is refused since its address has its share. */
  readonly onRefused?: ((address: string) => void) | undefined
}

/** What a connection is beyond: all that are taken, or the share of its address. It then is for `/health/*` alone. */
export type OverLimit = 'all' | 'share'

/** The connections of a server, and what each of them may be used for. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #open = new Set<Socket>()
  /** Those beyond a limit. */
  readonly excess = new WeakMap<Socket, OverLimit>()
  #taken = 0
  /** The server itself drops more. */
  readonly #beyondAll = new OverLimitConnections(Number.POSITIVE_INFINITY, busy)
  readonly #beyondShare: OverLimitConnections
  readonly #told = new WeakSet<Socket>()
  /** How many were refused, since their address had its share. */
  refused = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
    const leftToOthers = Math.floor(spareConnections(options.maxConnections) / 2)
    this.#beyondShare = new OverLimitConnections(
      spareConnections(options.maxConnections) - leftToOthers,
      (socket) => this.refusal(socket),
    )
  }

  /** The most that are open, those for health included. */
  get most(): number {
    return this.#options.maxConnections + spareConnections(this.#options.maxConnections)
  }

  get open(): Iterable<Socket> {
    return this.#open
  }

  /** Whether all that are for any request are taken. */
  get isFull(): boolean {
    return this.#taken >= this.#options.maxConnections
  }

  /** A connection has come. */
  take(socket: Socket): OverLimit | undefined {
    const { shares, proxies } = this.#options
    const { remoteAddress = '' } = socket
    const isUnlimited = shares === undefined || proxies?.has(remoteAddress)
    const giveBack = isUnlimited ? () => {} : shares.take(remoteAddress)
    const excess = giveBack === undefined ? 'share' : this.isFull ? 'all' : undefined
    this.#open.add(socket)
    if (excess === undefined) this.#taken += 1
    socket.once('close', () => {
      this.#open.delete(socket)
      if (excess === undefined) this.#taken -= 1
      giveBack?.()
    })
    if (excess === undefined) return undefined
    this.excess.set(socket, excess)
    const spare = excess === 'all' ? this.#beyondAll : this.#beyondShare
    spare.add(socket)
    return excess
  }

  /** A request has come on one beyond a limit. */
  ask(socket: Socket): void {
    this.#beyondShare.ask(socket)
    this.#beyondAll.ask(socket)
  }

  /** What a connection is answered whose address has its share, on its first request and on those sent with it. */
  refusal(socket: Socket): Problem {
    if (!this.#told.has(socket)) {
      this.#told.add(socket)
      this.refused += 1
      this.#options.onRefused?.(socket.remoteAddress ?? '')
    }
    return tooManyConnections(this.#options.shares?.most ?? 0)
  }
}

/** How many connections beyond the others are taken, for `/health/*` alone. */
const spareConnections = (maxConnections: number) => Math.min(50, Math.ceil(maxConnections / 10))

/** How long such a connection may stay without a request, in milliseconds. */
const SPARE_TIME = 2_000

/** Connections beyond a limit: one request each, which is refused unless it asks for health. */
class OverLimitConnections {
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

  /** A request has come on a connection, one of these maybe. */
  ask(socket: Socket): void {
    this.#forget(socket)
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
