import { setTimeout as pause } from 'node:timers/promises'
import { openStream, type Stream, type Told } from './stream.ts'

/** How soon a client whose stream has ended tries again, in milliseconds: sooner than a browser. */
const AGAIN_AFTER = 20

/** A client that follows a stream, and comes back to wherever one serves with the last id that it has. */
export class Follower {
  readonly #urlOf: () => string
  readonly #headers: Readonly<Record<string, string>>
  readonly told: Told[] = []
  /** How often it has got another stream. */
  reconnects = -1
  /** What no client should get. */
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
        this.#stream = await openStream(this.#urlOf(), headers, (id, told) => this.#take(id, told))
        this.reconnects += 1
        await this.#stream.over
      } catch (error) {
        // A host that has been killed has no port; one that starts may say 503.
        const { message } = error as Error
        if (/answered with (?!503)/.test(message)) this.failures.push(message)
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

  #take(id: string, told: Told | undefined): void {
    this.#lastEventId = id
    if (told !== undefined) this.told.push(told)
  }
}
