import type { Readable } from 'node:stream'

/** A process without a heartbeat for this many seconds is stopped. */
const STOPPED = 10
/** Longer than a worker takes to revert a change that hangs, and to end itself. */
const HUNG = 40
/** The limit for a worker that was asked to end. */
const HUNG_AT_END = 10
/** Seconds until a worker's first heartbeat. */
const FIRST = 60

/** Reads a worker's heartbeats. `tick` counts the seconds in which this process runs. */
export class HeartbeatMonitor {
  #isKnown = false
  #sinceSign = 0
  #sinceTurn = 0

  /** @param source the worker's output */
  constructor(source: Readable) {
    source.on('data', (signs: Buffer) => {
      this.#isKnown = true
      this.#sinceSign = 0
      if (signs.includes('+')) this.#sinceTurn = 0
    })
    source.on('error', () => {})
  }

  /** Called once per second. Returns the reason to replace the worker, if any. */
  tick(phase: 'starts' | 'serves' | 'ends'): string | undefined {
    this.#sinceSign += 1
    this.#sinceTurn += 1
    // A process in a debugger sends no heartbeat.
    if (!this.#isKnown && (phase !== 'starts' || this.#sinceSign < FIRST)) return undefined
    if (this.#sinceSign >= STOPPED) return `sent no heartbeat for ${this.#sinceSign} s`
    const limit = phase === 'ends' ? HUNG_AT_END : HUNG
    return this.#sinceTurn >= limit ? `blocked its event loop for ${this.#sinceTurn} s` : undefined
  }
}
