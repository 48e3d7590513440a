import type { Client } from 'pg'
import { hangUp } from './close-client.ts'
import { isUseless } from './database-error.ts'

export interface ReadersOptions {
  /** How many connections there may be now, from 1. */
  readonly limit: () => number
  /** Makes a connection that is ready to be used; what it throws, the read throws. */
  readonly connect: () => Promise<Client>
}

/** Connections that are each sent any number of reads at once, and answer them one after the other. */
export class Readers {
  readonly #options: ReadersOptions
  readonly #readers = new Set<Reader>()

  constructor(options: ReadersOptions) {
    this.#options = options
  }

  get open(): number {
    return [...this.#readers].filter(({ isOpen }) => isOpen).length
  }

  /** How many reads are on their way. */
  get pending(): number {
    let sum = 0
    for (const { pending } of this.#readers) sum += pending
    return sum
  }

  async run<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    const reader = this.#choose()
    try {
      return await reader.run(work)
    } catch (error) {
      if (!reader.isOpen || isUseless(error)) this.#giveUp(reader)
      throw error
    }
  }

  /** Gives one connection up once what it was sent is answered. */
  giveUpOne(): void {
    const open = [...this.#readers].find(({ isOpen }) => isOpen)
    if (open !== undefined) this.#giveUp(open)
  }

  async end(): Promise<void> {
    const readers = [...this.#readers]
    this.#readers.clear()
    await Promise.all(readers.map((reader) => reader.end()))
  }

  /** The one with the least to do; a new one where all have something to do and there may be more. */
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
  /** How many reads are on their way. */
  pending = 0
  isOpen = false

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
      return await work(client)
    } finally {
      this.pending -= 1
    }
  }

  /** Closes the connection once what it was sent is answered. */
  async end(): Promise<void> {
    this.isOpen = false
    const client = await this.#client.catch(() => undefined)
    if (client === undefined) return
    await (this.pending === 0 ? hangUp(client) : client.end())
  }
}

/**
 * Has all that a connection is asked in this turn of the event loop go out at once: writing to a socket is most of
 * what a short statement costs this process.
 */
function sendTogether({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}
