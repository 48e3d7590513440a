import type { Socket } from 'node:net'
import type { Problem } from '@mortise/module-sdk'
import type { AddressList } from './limits/address-list.ts'
import type { Shares } from './limits/shares.ts'
import { SpareConnections } from './spare-connections.ts'
import { busy, tooManyConnections } from './too-many.ts'

export interface ConnectionsOptions {
  /** How many there are for any request. */
  readonly maxConnections: number
  /** How many each address has of them; without, any number. */
  readonly shares?: Shares | undefined
  /** Addresses whose connections are those of many callers, and have no share. */
  readonly proxies?: AddressList | undefined
  /** Told of each connection that is refused since its address has its share. */
  readonly onRefused?: ((address: string) => void) | undefined
}

/** What a connection is beyond: all that are taken, or the share of its address. It then is for `/health/*` alone. */
export type Excess = 'all' | 'share'

/** The connections of a server, and what each of them may be used for. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #open = new Set<Socket>()
  #taken = 0
  /** The server itself drops more. */
  readonly #beyondAll = new SpareConnections(Number.POSITIVE_INFINITY, busy)
  readonly #beyondShare: SpareConnections
  readonly #told = new WeakSet<Socket>()
  /** How many were refused, since their address had its share. */
  refused = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
    const leftToOthers = Math.floor(spareConnections(options.maxConnections) / 2)
    this.#beyondShare = new SpareConnections(
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
  take(socket: Socket): Excess | undefined {
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
    if (excess === 'all') this.#beyondAll.add(socket)
    if (excess === 'share') this.#beyondShare.add(socket)
    return excess
  }

  /** A request has come on it. */
  ask(socket: Socket): Excess | undefined {
    if (this.#beyondShare.ask(socket)) return 'share'
    return this.#beyondAll.ask(socket) ? 'all' : undefined
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
