import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../../harness/child.ts'
import { NeverReaders } from './never-readers.ts'
import type { StreamingGuests, StreamsOpened } from './streaming-guests.ts'
import type { WritingGuests, Written } from './writing-guests.ts'

/** `count` addresses of this machine, of which each `net` has others. */
const addresses = (net: number, count: number) =>
  Array.from({ length: count }, (_, index) => `127.0.${net}.${index + 1}`)

const READERS = 2_700
/** From one address, and from the fewest from which all come within the limit of 200 connections for each. */
export const readersFrom = { one: addresses(2, 1), many: addresses(2, 14) }
/** 150 guests with ten streams each, within the limit of 20 for each address. */
const streams = { addresses: addresses(3, 75), guestsPerAddress: 2, streamsPerGuest: 10 }
/** At once each address writes more than it may in a minute, and from then on three times what it may. */
const writers = { addresses: addresses(4, 2), guestsPerAddress: 3, atOnce: 50 }
const WRITES_PER_SECOND = 5

/** Strangers who take all they can get of a host, in processes of their own. */
export class Attack {
  readonly #port: number
  readonly #streaming = new Child(new URL('streaming-guests.ts', import.meta.url))
  readonly #writing = new Child(new URL('writing-guests.ts', import.meta.url))
  #readers: NeverReaders | undefined
  #wroteFirst: number | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Guests write from now on, and have as many streams as they get. */
  async begin(): Promise<StreamsOpened> {
    const opened = await this.#streaming.ask<StreamsOpened>({
      ...streams,
      port: this.#port,
    } satisfies StreamingGuests)
    if (this.#wroteFirst === undefined) {
      this.#wroteFirst = performance.now()
      await this.#writing.ask<Written>({ ...writers, port: this.#port } satisfies WritingGuests)
    }
    await this.#writing.ask<Written>({ perSecond: WRITES_PER_SECOND })
    return opened
  }

  async bringReaders(from: readonly string[]): Promise<void> {
    this.#readers = await NeverReaders.come(this.#port, READERS, from)
  }

  async takeReadersAway(): Promise<void> {
    await this.#readers?.leave()
    this.#readers = undefined
  }

  /** Nothing is left of it in a moment, but what was written. */
  async rest(): Promise<Written> {
    const written = await this.#writing.ask<Written>({ perSecond: 0 })
    await this.#streaming.ask({ port: undefined })
    await pause(500)
    return written
  }

  /**
   * How many times what an address may write in a minute each could write by now, all addresses together: the allowance
   * of a minute may be used in its first moment, and comes back within the next.
   */
  get allowances(): number {
    const minutes = (performance.now() - (this.#wroteFirst ?? performance.now())) / 60_000
    return writers.addresses.length * (1 + minutes)
  }

  async end(): Promise<void> {
    await this.takeReadersAway()
    await Promise.all([this.#streaming.kill(), this.#writing.kill()])
  }
}
