import { DatabaseError } from '@mortise/module-sdk/transaction'
import type { Client } from 'pg'
import { hangUp } from './client.ts'

/** How long an unused connection stays open, in milliseconds. The last one stays. */
const IDLE_MS = 10_000
/** How long a caller may wait for a connection, in milliseconds. */
const PATIENCE_MS = 5_000
/** How many callers may wait. */
const MOST_WAITING = 1_000
/** The pause before the first connection is tried again without room for it, in milliseconds. */
const AGAIN_MS = 250

export interface PoolOptions {
  /** The current limit of connections. */
  readonly limit: () => number
  /** Makes a connection that is ready for use. */
  readonly connect: () => Promise<Client>
  /** Whether unused connections stay open, since new ones cannot be made. */
  readonly keepsIdle: () => boolean
  /** The error for waiting callers after a failed connection; undefined: they continue to wait. */
  readonly failed: (error: Error) => Promise<DatabaseError | undefined>
}

interface Waiting {
  readonly grant: (client: Client) => void
  readonly refuse: (error: DatabaseError) => void
  readonly timer: NodeJS.Timeout
}

interface Idle {
  readonly client: Client
  readonly timer: NodeJS.Timeout
}

/** Connections for exclusive use. */
export class Pool {
  readonly #options: PoolOptions
  readonly #open = new Set<Client>()
  readonly #idle: Idle[] = []
  readonly #waiting: Waiting[] = []
  #connecting = 0
  #ended: PromiseWithResolvers<void> | undefined

  constructor(options: PoolOptions) {
    this.#options = options
  }

  get open(): number {
    return this.#open.size
  }

  get idle(): number {
    return this.#idle.length
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Return it with `release`. @throws {DatabaseError} `busy`, `unavailable` */
  acquire(): Promise<Client> {
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      clearTimeout(idle.timer)
      return Promise.resolve(idle.client)
    }
    if (this.#waiting.length >= MOST_WAITING) {
      const reason = `${MOST_WAITING} transactions already wait for a connection to the database`
      return Promise.reject(new DatabaseError('busy', reason))
    }
    const { promise, resolve: grant, reject: refuse } = Promise.withResolvers<Client>()
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      const reason = `no connection to the database became free within ${PATIENCE_MS / 1_000} s`
      refuse(new DatabaseError('busy', reason))
    }, PATIENCE_MS)
    const waiting = { grant, refuse, timer }
    this.#waiting.push(waiting)
    this.grow()
    return promise
  }

  /** @param broken the connection cannot be used again */
  release(client: Client, broken = false): void {
    // A connection that broke while in use is removed already.
    if (!this.#open.has(client)) return
    if (broken || this.#ended !== undefined || this.#open.size > this.#options.limit()) {
      this.#close(client)
      return
    }
    const waiting = this.#waiting.shift()
    if (waiting === undefined) {
      this.#keepIdle(client)
      return
    }
    clearTimeout(waiting.timer)
    waiting.grant(client)
    this.grow()
  }

  /** Rejects all waiting callers. */
  refuseAll(error: DatabaseError): void {
    for (const { refuse, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer)
      refuse(error)
    }
  }

  /** Resolves when all connections are returned. */
  end(): Promise<void> {
    this.#ended ??= Promise.withResolvers()
    for (const { client } of [...this.#idle]) this.#close(client)
    this.#settle()
    return this.#ended.promise
  }

  /** Makes connections for waiting callers. */
  grow(): void {
    const room = () => this.#options.limit() - this.#open.size - this.#connecting
    while (this.#ended === undefined && this.#connecting < this.#waiting.length && room() > 0) {
      this.#connecting += 1
      this.#connect()
    }
  }

  async #connect(): Promise<void> {
    try {
      const client = await this.#options.connect()
      this.#connecting -= 1
      this.#open.add(client)
      client.on('end', () => this.#forget(client))
      this.release(client)
    } catch (error) {
      const refusal = await this.#options.failed(error as Error)
      this.#connecting -= 1
      this.#failed(refusal)
    }
    this.#settle()
  }

  #failed(refusal: DatabaseError | undefined): void {
    if (refusal !== undefined) {
      this.refuseAll(refusal)
      return
    }
    while (this.#idle.length > 0 && this.#open.size > this.#options.limit()) {
      this.#close((this.#idle[0] as Idle).client)
    }
    if (this.#open.size + this.#connecting === 0) setTimeout(() => this.grow(), AGAIN_MS)
  }

  #keepIdle(client: Client): void {
    const timer = setTimeout(() => {
      if (this.#open.size > 1 && !this.#options.keepsIdle()) this.#close(client)
    }, IDLE_MS).unref()
    this.#idle.push({ client, timer })
  }

  #close(client: Client): void {
    hangUp(client)
    this.#forget(client)
  }

  /** The connection is closed or broken. */
  #forget(client: Client): void {
    if (!this.#open.delete(client)) return
    const index = this.#idle.findIndex((idle) => idle.client === client)
    if (index >= 0) clearTimeout(this.#idle.splice(index, 1)[0]?.timer)
    this.grow()
    this.#settle()
  }

  #settle(): void {
    if (this.#open.size + this.#connecting === 0) this.#ended?.resolve()
  }
}
