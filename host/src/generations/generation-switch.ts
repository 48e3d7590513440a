import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** One Fastify instance and its requests in progress. */
class Generation {
  readonly app: FastifyInstance
  /**
   * No Set: each table that a Set outgrows points to the next one. The old generation of the heap
   * would keep the chain, with all responses in it, until a full collection.
   */
  readonly #inFlight: ServerResponse[] = []
  #drained: (() => void) | undefined
  finished = 0

  constructor(app: FastifyInstance) {
    this.app = app
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#inFlight.push(response)
    response.on('close', () => {
      const last = this.#inFlight.pop() as ServerResponse
      if (last !== response) this.#inFlight[this.#inFlight.indexOf(response)] = last
      if (response.writableFinished) this.finished += 1
      if (this.#inFlight.length === 0) this.#drained?.()
    })
    this.app.routing(request, response)
  }

  get inFlight(): number {
    return this.#inFlight.length
  }

  /** Ends streams, and ends each active connection after its current response. */
  hangUp(): void {
    this.app.retire?.()
    for (const response of this.#inFlight)
      if (!response.headersSent) response.setHeader('connection', 'close')
  }

  /** Resolves when every request of this generation has its response or is gone. */
  drained(): Promise<void> {
    if (this.#inFlight.length === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained = resolve
    return promise
  }
}

/** The host stops, and changes nothing any more. */
export class HostStoppingError extends Error {
  override readonly name = 'HostStoppingError'

  constructor() {
    super('the host is shutting down')
  }
}

/**
 * Replaces the Fastify instance that serves, without a failed request: it builds the next one
 * beside it, sends new requests to it (also those on kept-alive connections), and closes the
 * previous one when its requests have their responses. Changes are queued, so none is lost or
 * doubled.
 *
 * The http.Server outlives all generations: it calls `listener`, and nothing else is attached to
 * it.
 */
export class Generations {
  #current: Generation
  #changes: Promise<unknown> = Promise.resolve()
  #dismissing = false
  #closing = false
  /** Of the closed instances. */
  #finished = 0
  readonly #retiring = new Map<Generation, Promise<void>>()

  constructor(first: FastifyInstance) {
    this.#current = new Generation(first)
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    if (this.#dismissing) response.setHeader('connection', 'close')
    this.#current.handle(request, response)
  }

  get app(): FastifyInstance {
    return this.#current.app
  }

  /** Requests in progress in all generations. */
  get inFlight(): number {
    return this.#all.reduce((sum, { inFlight }) => sum + inFlight, 0)
  }

  /** Requests finished by all generations. */
  get finished(): number {
    return this.#all.reduce((sum, { finished }) => sum + finished, this.#finished)
  }

  get #all(): readonly Generation[] {
    return [this.#current, ...this.#retiring.keys()]
  }

  /**
   * Builds the next instance and lets it serve. A `build` that rejects changes nothing.
   * @param build makes a ready instance, or returns undefined if nothing changes; it runs after
   * every earlier change
   * @throws {HostStoppingError} after `close`
   */
  replace(build: () => Promise<FastifyInstance | undefined>): Promise<void> {
    if (this.#closing) return Promise.reject(new HostStoppingError())
    const change = this.#changes.then(async () => {
      const next = await build()
      if (next === undefined) return
      const previous = this.#current
      this.#current = new Generation(next)
      const retired = this.#retire(previous)
      this.#retiring.set(previous, retired)
      retired.finally(() => {
        this.#retiring.delete(previous)
        this.#finished += previous.finished
      })
      await this.react()
    })
    this.#changes = change.catch(() => {})
    return change
  }

  /** Starts the event handlers; those of later instances start once these serve. */
  async react(): Promise<void> {
    await this.app.react?.()
  }

  /** Resolves when every instance replaced so far has sent its responses and is closed. */
  async retired(): Promise<void> {
    await Promise.all(this.#retiring.values())
  }

  /** From now on each connection ends after its next response. */
  dismiss(): void {
    this.#dismissing = true
    this.#current.hangUp()
  }

  /** Resolves when all responses are sent. Queued changes are still made. */
  async close(): Promise<void> {
    this.#closing = true
    this.dismiss()
    await this.#changes
    await Promise.all([...this.#retiring.values(), this.#retire(this.#current)])
  }

  async #retire(generation: Generation): Promise<void> {
    generation.app.retire?.()
    await generation.drained()
    try {
      await generation.app.close()
    } catch (error) {
      generation.app.log.error(error, 'a module failed to close')
    }
  }
}
