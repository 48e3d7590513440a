import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressList, addressKey, type Problem } from '@mortise/module-sdk'
import { ConcurrencyLimit } from './limits/concurrency-limit.ts'
import { problemBytes } from './refuse-connection.ts'
import { busy, tooManyConnections } from './too-many.ts'

export interface ConnectionsOptions {
  /** Connections for any request; the last tenth of them only for signed-in callers. */
  readonly maxConnections: number
  /** Connections per address; unlimited if undefined. */
  readonly shares?: ConcurrencyLimit | undefined
  /** Proxy addresses: their connections serve many callers, so they have no limit per address. */
  readonly proxies?: AddressList | undefined
  /** Called for each connection refused because its address is over its limit. */
  readonly onRefused?: ((address: string) => void) | undefined
}

/**
 * The limit that a connection exceeds: the total, or its address's share. Such a connection serves
 * only `/health/*`; beyond the total also one request of a signed-in caller.
 */
export type OverLimit = 'all' | 'share'

/** The connections of a server, with the requests that each may send. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #open = new Set<Socket>()
  /** Connections beyond a limit. */
  readonly excess = new WeakMap<Socket, OverLimit>()
  #taken = 0
  /** The server itself drops more. */
  readonly #beyondAll: OverLimitConnections
  readonly #beyondShare: OverLimitConnections
  /** The requests of each signed-in caller on connections beyond all. */
  readonly #reserve: ConcurrencyLimit
  readonly #notified = new WeakSet<Socket>()
  /** Connections refused because their address was over its limit. */
  refused = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
    const { maxConnections } = options
    const reserved = reservedConnections(maxConnections)
    // The other half is left to connections beyond all.
    const most = Math.ceil(spareConnections(maxConnections) / 2)
    this.#beyondShare = new OverLimitConnections(most, (socket) => this.refusal(socket))
    this.#beyondAll = new OverLimitConnections(
      Math.max(1, this.most - maxConnections + reserved - most),
      busy,
    )
    this.#reserve = new ConcurrencyLimit(Math.ceil(reserved / 10))
  }

  /** The limit for open connections, including those for health. */
  get most(): number {
    return this.#options.maxConnections + spareConnections(this.#options.maxConnections)
  }

  get open(): Iterable<Socket> {
    return this.#open
  }

  /** Whether all connections for any caller are taken. */
  get isFull(): boolean {
    const { maxConnections } = this.#options
    return this.#taken >= maxConnections - reservedConnections(maxConnections)
  }

  /** Whether a refusal on a connection beyond all must not wait, because others need its place. */
  get isCrowded(): boolean {
    return this.#beyondAll.isHalfFull
  }

  /**
   * Whether the request of a signed-in caller may use its connection beyond all: one caller gets a
   * tenth of the reserve.
   */
  takeReserve(caller: string, response: ServerResponse): boolean {
    if (reservedConnections(this.#options.maxConnections) === 0) return false
    const giveBack = this.#reserve.take(caller)
    if (giveBack !== undefined) response.once('close', giveBack)
    return giveBack !== undefined
  }

  take(socket: Socket): OverLimit | undefined {
    const { shares, proxies } = this.#options
    const { remoteAddress = '' } = socket
    const isUnlimited = shares === undefined || proxies?.has(remoteAddress)
    const giveBack = isUnlimited ? () => {} : shares.take(addressKey(remoteAddress))
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
    const beyond = excess === 'all' ? this.#beyondAll : this.#beyondShare
    beyond.add(socket)
    return excess
  }

  /** Called for a request on a connection, possibly one beyond a limit. */
  ask(socket: Socket): void {
    this.#beyondShare.forget(socket)
    this.#beyondAll.forget(socket)
  }

  /**
   * The response on a connection whose address is over its limit, for its first request and for
   * those pipelined with it.
   */
  refusal(socket: Socket): Problem {
    if (!this.#notified.has(socket)) {
      this.#notified.add(socket)
      this.refused += 1
      this.#options.onRefused?.(socket.remoteAddress ?? '')
    }
    return tooManyConnections(this.#options.shares?.most ?? 0)
  }
}

/** Those of `maxConnections` that are kept for signed-in callers. */
const reservedConnections = (maxConnections: number) => Math.floor(maxConnections / 10)

/** Additional connections for `/health/*` alone. */
const spareConnections = (maxConnections: number) => Math.min(50, Math.ceil(maxConnections / 10))

/** How long such a connection may stay without a request, in milliseconds. */
const SPARE_TIME = 2_000

/**
 * Connections beyond a limit: each gets one request, which is refused unless it asks for health or
 * uses the reserve.
 */
class OverLimitConnections {
  readonly #most: number
  readonly #refusal: (socket: Socket) => Problem
  readonly #open = new Set<Socket>()
  /** Connections without a request, oldest first, each with the timer that ends it. */
  readonly #silent = new Map<Socket, NodeJS.Timeout>()

  /**
   * @param most open at a time; at the limit the oldest connection without a request is closed for
   * the next one
   * @param refusal the response to that connection
   */
  constructor(most: number, refusal: (socket: Socket) => Problem) {
    this.#most = most
    this.#refusal = refusal
  }

  get isHalfFull(): boolean {
    return this.#open.size > this.#most / 2
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
      this.forget(socket)
      this.#open.delete(socket)
    })
  }

  #refuse(socket: Socket): void {
    this.forget(socket)
    this.#open.delete(socket)
    socket.write(problemBytes(this.#refusal(socket)))
    socket.destroySoon()
  }

  /** It has sent a request, or is closed. */
  forget(socket: Socket): void {
    clearTimeout(this.#silent.get(socket))
    this.#silent.delete(socket)
  }
}
