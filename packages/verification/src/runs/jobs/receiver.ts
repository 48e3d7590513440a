import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

/** How long a response takes, in milliseconds, so that kills meet jobs in progress. */
const WORK = 20

interface Arrival {
  readonly number: number
  /** The process that does the job. */
  readonly pid: number
}

/** What jobs send their numbers to. It notes jobs that come twice although the first process lives. */
export class Receiver {
  readonly failures: string[] = []
  readonly #arrivals = new Map<string, Arrival>()
  readonly #open = new Set<string>()
  readonly #server: Server
  duplicates = 0
  /** When a job arrived that had not arrived before, in epoch milliseconds. */
  lastArrival = Date.now()

  constructor() {
    this.#server = createServer(async (request, response) => {
      const { id, ...arrival } = (await json(request)) as Arrival & { id: string }
      this.#note(id, arrival)
      this.#open.add(id)
      response.once('close', () => this.#open.delete(id))
      await pause(WORK)
      response.end()
    })
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** The numbers that have arrived. */
  get numbers(): Set<number> {
    return new Set(Array.from(this.#arrivals.values(), ({ number }) => number))
  }

  #note(id: string, arrival: Arrival): void {
    const { number } = arrival
    if (this.#open.has(id)) this.failures.push(`the job of ${number} is done by two at once`)
    const before = this.#arrivals.get(id)
    if (before === undefined) {
      this.lastArrival = Date.now()
    } else {
      this.duplicates += 1
      if (isAlive(before.pid)) this.failures.push(`the job of ${number} is done again without a kill`)
    }
    this.#arrivals.set(id, arrival)
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
