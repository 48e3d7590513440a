import type { Readable } from 'node:stream'

/** A process that has shown nothing for so many seconds is stopped. */
const STOPPED = 10
/**
 * An event loop that has not turned for so many seconds hangs: longer than a worker takes to take back a change that
 * hangs, and to end itself.
 */
const HUNG = 40
/** The same of a worker that was told to end. */
const HUNG_AT_END = 10
/** So many seconds may go by before a worker shows something for the first time. */
const FIRST = 60

/** What a worker shows of its life, see `sendHeartbeat`. Seconds are counted by `tick`: those in which this process runs. */
export class HeartbeatMonitor {
  #isKnown = false
  #sinceSign = 0
  #sinceTurn = 0

  /** @param source what the worker writes */
  constructor(source: Readable) {
    source.on('data', (signs: Buffer) => {
      this.#isKnown = true
      this.#sinceSign = 0
      if (signs.includes('+')) this.#sinceTurn = 0
    })
    source.on('error', () => {})
  }

  /** For how many seconds its event loop has not turned, as far as is known. */
  get silentFor(): number {
    return this.#isKnown ? this.#sinceTurn : 0
  }

  /** Another second has gone by. @returns why the worker is to be replaced, if it is */
  tick(phase: 'starts' | 'serves' | 'ends'): string | undefined {
    this.#sinceSign += 1
    this.#sinceTurn += 1
    // A worker of an older version shows nothing.
    if (!this.#isKnown && (phase !== 'starts' || this.#sinceSign < FIRST)) return undefined
    if (this.#sinceSign >= STOPPED) return `gave no sign of life for ${this.#sinceSign} s`
    const limit = phase === 'ends' ? HUNG_AT_END : HUNG
    return this.#sinceTurn >= limit ? `held its event loop for ${this.#sinceTurn} s` : undefined
  }
}
