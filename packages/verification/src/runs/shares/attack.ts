import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../../harness/child.ts'
import { NeverReaders } from './never-readers.ts'
import type { StreamingGuests, StreamsOpened } from './streaming-guests.ts'
import type { WritingGuests, Written } from './writing-guests.ts'

/** `count` loopback addresses in a `net` of their own. */
const addresses = (net: number, count: number) =>
  Array.from({ length: count }, (_, index) => `127.0.${net}.${index + 1}`)

const READERS = 2_700
/** From one address, and from the fewest addresses within the limit of 200 connections each. */
export const readersFrom = { one: addresses(2, 1), many: addresses(2, 14) }
/** 150 guests with ten streams each, within the limit of 20 per address. */
const streams = { addresses: addresses(3, 75), guestsPerAddress: 2, streamsPerGuest: 10 }
/** Each address first exceeds its limit for a minute, then writes at three times the limit. */
const writers = { addresses: addresses(4, 2), guestsPerAddress: 3, atOnce: 50 }
const WRITES_PER_SECOND = 5

/** Attackers have machines of their own, so they take no core from the host. */
const nice = ['nice', '-n', '10']

/** Attackers that take as much of a host as they get, in their own processes. */
export class Attack {
  readonly #port: number
  readonly #streaming = new Child(new URL('streaming-guests.ts', import.meta.url), undefined, nice)
  readonly #writing = new Child(new URL('writing-guests.ts', import.meta.url), undefined, nice)
  #readers: NeverReaders | undefined
  #wroteFirst: number | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Starts the writing guests, and opens as many streams as possible. */
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

  /** Ends writes and streams; only the written data stay. */
  async rest(): Promise<Written> {
    const written = await this.#writing.ask<Written>({ perSecond: 0 })
    await this.#streaming.ask({ port: undefined })
    await pause(500)
    return written
  }

  /**
   * The allowances per minute that all addresses together could use by now. A minute's allowance can
   * be used at once, and returns within the next minute.
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
