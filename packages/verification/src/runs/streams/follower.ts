import { setTimeout as pause } from 'node:timers/promises'
import { openStream, type Received, type Stream } from '../../harness/event-stream.ts'

/** The pause before a client opens an ended stream again, in milliseconds: shorter than a browser's. */
const AGAIN_AFTER = 20

/** A client that follows a stream. It reconnects to any host, with the last id that it received. */
export class Follower {
  readonly #urlOf: () => string
  readonly #headers: Readonly<Record<string, string>>
  readonly events: Received[] = []
  /** The number of streams after the first. */
  reconnects = -1
  /** Responses that no client may get. */
  readonly failures: string[] = []
  #lastEventId = 'start'
  #stream: Stream | undefined
  #isStopped = false

  constructor(urlOf: () => string, headers: Readonly<Record<string, string>>) {
    this.#urlOf = urlOf
    this.#headers = headers
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const headers = { ...this.#headers, 'last-event-id': this.#lastEventId }
        this.#stream = await openStream(this.#urlOf(), headers, (id, event) => this.#take(id, event))
        this.reconnects += 1
        await this.#stream.over
      } catch (error) {
        // A killed host has no port; a starting one may return 503.
        const { message } = error as Error
        if (/responded with (?!503)/.test(message)) this.failures.push(message)
      }
      await pause(AGAIN_AFTER)
    }
  }

  drop(): void {
    this.#stream?.drop()
  }

  stop(): void {
    this.#isStopped = true
    this.drop()
  }

  #take(id: string, event: Received | undefined): void {
    this.#lastEventId = id
    if (event !== undefined) this.events.push(event)
  }
}
