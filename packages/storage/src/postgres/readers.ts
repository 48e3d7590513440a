import type { Client } from 'pg'
import { hangUp, hasChangedSession, sendTogether } from './client.ts'
import { isUseless } from './database-error.ts'

export interface ReadersOptions {
  /** The current limit of connections, at least 1. */
  readonly limit: () => number
  /** Makes a connection that is ready for use; its error fails the read. */
  readonly connect: () => Promise<Client>
}

/** Each connection pipelines any number of reads and returns their results in order. */
export class Readers {
  readonly #options: ReadersOptions
  readonly #readers = new Set<Reader>()

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  get open(): number {
    return [...this.#readers].filter(({ isOpen }) => isOpen).length
  }

  /** The number of pending reads. */
  get pending(): number {
    let sum = 0
    for (const { pending } of this.#readers) sum += pending
    return sum
  }

  async run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const reader = this.#choose()
    try {
      const result = await reader.run(work)
      if (reader.hasChanged) this.#giveUp(reader)
      return result
    } catch (error) {
      if (!reader.isOpen || isUseless(error)) this.#giveUp(reader)
      throw error
    }
  }

  /** Closes one connection after its pending reads. */
  giveUpOne(): void {
    const open = [...this.#readers].find(({ isOpen }) => isOpen)
    if (open !== undefined) this.#giveUp(open)
  }

  /** Closes all connections after their pending reads. */
  giveUpAll(): void {
    for (const reader of [...this.#readers]) this.#giveUp(reader)
  }

  async end(): Promise<void> {
    const readers = [...this.#readers]
    this.#readers.clear()
    await Promise.all(readers.map((reader) => reader.end()))
  }

  /** The least busy connection; a new one if all are busy and the limit allows it. */
  #choose(): Reader {
    let chosen: Reader | undefined
    for (const reader of this.#readers) {
      if (chosen === undefined || reader.pending < chosen.pending) chosen = reader
    }
    const limit = this.#options.limit()
    if (chosen !== undefined && this.#readers.size > limit) {
      this.#giveUp(chosen)
      return this.#choose()
    }
    if (chosen !== undefined && (chosen.pending === 0 || this.#readers.size >= limit)) return chosen
    const reader: Reader = new Reader(this.#options.connect(), () => this.#readers.delete(reader))
    this.#readers.add(reader)
    return reader
  }

  #giveUp(reader: Reader): void {
    this.#readers.delete(reader)
    reader.end().catch(() => {})
  }
}

class Reader {
  readonly #client: Promise<Client>
  /** The number of pending reads. */
  pending = 0
  isOpen = false
  /** See `hasChangedSession`. */
  hasChanged = false

  constructor(connecting: Promise<Client>, onEnd: () => void) {
    this.#client = connecting
    connecting.then(
      (client) => {
        this.isOpen = true
        client.on('end', () => {
          this.isOpen = false
          onEnd()
        })
      },
      () => {},
    )
  }

  async run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    this.pending += 1
    try {
      const client = await this.#client
      sendTogether(client)
      const result = await work(client)
      this.hasChanged = hasChangedSession(client)
      return result
    } finally {
      this.pending -= 1
    }
  }

  /** Closes the connection after its pending reads. */
  async end(): Promise<void> {
    this.isOpen = false
    const client = await this.#client.catch(() => undefined)
    if (client === undefined) return
    await (this.pending === 0 ? hangUp(client) : client.end())
  }
}
