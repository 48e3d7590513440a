import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../harness/random.ts'

/** The number of deliveries that fail at first. */
const FAILING = 3

/** Receives webhooks. */
export class Receiver {
  readonly #server: Server
  /** The subjects of the received events, with their counts. */
  readonly #subjects = new Map<string, number>()
  readonly #failed = new Set<string>()
  count = 0

  private constructor(random: Random) {
    this.#server = createServer(async (request, response) => {
      const { subject } = JSON.parse(await text(request))
      const fails = this.#failed.size < FAILING && !this.#failed.has(subject) && random.chance(0.2)
      if (fails) this.#failed.add(subject)
      else this.#subjects.set(subject, (this.#subjects.get(subject) ?? 0) + 1)
      if (!fails) this.count += 1
      response.writeHead(fails ? 500 : 204).end()
    })
  }

  static async start(random: Random): Promise<Receiver> {
    const receiver = new Receiver(random)
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** The subjects that did not arrive within this time. */
  async missing(subjects: readonly string[], milliseconds: number): Promise<string[]> {
    const missing = () => subjects.filter((subject) => !this.#subjects.has(subject))
    for (const end = performance.now() + milliseconds; performance.now() < end; await pause(50)) {
      if (missing().length === 0) return []
    }
    const { length } = missing()
    return length === 0
      ? []
      : [`${length} of ${subjects.length} purchases reached no webhook in ${milliseconds} ms`]
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
