import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { isStream } from '../requests/observe-requests.ts'
import type { RequestDurations } from '../telemetry/metrics.ts'

/** One Fastify instance and the requests that it has begun to answer. */
class Generation {
  readonly app: FastifyInstance
  readonly #inFlight = new Set<ServerResponse>()
  #drained: (() => void) | undefined
  #finished = 0

  constructor(app: FastifyInstance) {
    this.app = app
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    this.#inFlight.add(response)
    response.once('close', () => {
      this.#inFlight.delete(response)
      if (response.writableFinished) this.#finished += 1
      if (this.#inFlight.size === 0) this.#drained?.()
    })
    this.app.routing(request, response)
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  /** How many requests it has answered to their end. */
  get finished(): number {
    return this.#finished
  }

  /** Has the modules react to events. */
  async react(): Promise<void> {
    await this.app.react?.()
  }

  /** Tells the modules that nothing should go on for long. */
  retire(): void {
    this.app.retire?.()
  }

  /** Has the connections in use end with the answers that are under way, and streams end. */
  hangUp(): void {
    this.retire()
    for (const response of this.#inFlight)
      if (!response.headersSent) response.setHeader('connection', 'close')
  }

  /** Resolves when every request that this generation has begun is answered or gone. */
  drained(): Promise<void> {
    if (this.#inFlight.size === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#drained = resolve
    return promise
  }
}

/**
 * The Fastify instance that serves now, and its replacement without a failed request: the next one is built
 * beside it, then new requests go there (also those of kept-alive connections), and the former one is closed
 * once the requests that it had begun are answered. Changes are queued, so none is lost or doubled.
 *
 * The http.Server outlives all generations: it calls `listener`, and nothing else is attached to it.
 */
export class Generations {
  #current: Generation
  #changes: Promise<unknown> = Promise.resolve()
  #dismissing = false
  #closing = false
  /** Of the instances that are closed. */
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

  /** How many requests are being answered, by any generation. */
  get inFlight(): number {
    return [this.#current, ...this.#retiring.keys()].reduce((sum, { inFlight }) => sum + inFlight, 0)
  }

  /** How many requests any generation has answered to their end. */
  get finished(): number {
    return [this.#current, ...this.#retiring.keys()].reduce(
      (sum, { finished }) => sum + finished,
      this.#finished,
    )
  }

  /**
   * Builds the next instance and lets it serve. A `build` that rejects changes nothing.
   * @param build makes a ready instance, or undefined where there is nothing to change; it runs after every
   *   earlier change
   * @throws {Error} where `close` has been called
   */
  replace(build: () => Promise<FastifyInstance | undefined>): Promise<void> {
    if (this.#closing) return Promise.reject(new Error('the host is shutting down'))
    const change = this.#changes.then(async () => {
      const next = await build()
      if (next === undefined) return
      const former = this.#current
      this.#current = new Generation(next)
      const retired = this.#retire(former)
      this.#retiring.set(former, retired)
      retired.finally(() => {
        this.#retiring.delete(former)
        this.#finished += former.finished
      })
      await this.#current.react()
    })
    this.#changes = change.catch(() => {})
    return change
  }

  /** Has the modules react to events; those of a later instance do once it serves. */
  react(): Promise<void> {
    return this.#current.react()
  }

  /** Resolves when every instance that was replaced until now has answered what it had begun, and is closed. */
  async retired(): Promise<void> {
    await Promise.all(this.#retiring.values())
  }

  /** From now on each connection ends with its next answer. */
  dismiss(): void {
    this.#dismissing = true
    this.#current.hangUp()
  }

  /**
   * Resolves when all that was begun is answered, and every instance closed. Connections end with their next
   * answer; changes that were queued are still made.
   */
  async close(): Promise<void> {
    this.#closing = true
    this.dismiss()
    await this.#changes
    await Promise.all([...this.#retiring.values(), this.#retire(this.#current)])
  }

  async #retire(generation: Generation): Promise<void> {
    generation.retire()
    await generation.drained()
    try {
      await generation.app.close()
    } catch (error) {
      generation.app.log.error(error, 'a module failed while it was being closed')
    }
  }
}

/** How many answers the routes of one module have given, and how many of them were its failures. */
export interface Answers {
  readonly all: number
  readonly failed: number
}

/** So many failed answers at least: fewer are no trend. */
const FEWEST = 5
/** The share of failed answers that is still no reason to take a change back. */
const TOLERATED = 0.05

const none: Answers = { all: 0, failed: 0 }

/** The answers of one generation, by module. */
export class ResponseCounts {
  readonly #byModule = new Map<string, Answers>()

  count(module: string, isFailed: boolean): void {
    const { all, failed } = this.of(module)
    this.#byModule.set(module, { all: all + 1, failed: failed + (isFailed ? 1 : 0) })
  }

  of(module: string): Answers {
    return this.#byModule.get(module) ?? none
  }
}

/**
 * Whether an answer is the failure of the module whose route gave it. 503 is not: the host gives it for the database, a
 * full disk or its own end, and a module for what it depends on.
 * @param problem the code of the problem that it is
 */
export const isModuleFailure = (status: number, problem: string | undefined): boolean =>
  status >= 500 && status !== 503 && problem !== 'outcome-unknown'

/** Whether a module fails more than it did: at least 5 answers, more than 5 % of all, and more than twice the former share. */
export function failsMore(former: Answers, present: Answers): boolean {
  if (present.failed < FEWEST) return false
  return shareOf(present) > Math.max(TOLERATED, 2 * shareOf(former))
}

const shareOf = ({ all, failed }: Answers) => (all === 0 ? 0 : failed / all)

export interface ResponseCountingOptions {
  readonly requests: RequestDurations
  /** Who watches the modules. */
  readonly watch?: ModuleWatch | undefined
}

export interface ModuleWatch {
  readonly answers: ResponseCounts
  /** Told the module of each answer that is its failure. */
  readonly onFailure: (module: string) => void
}

/** Counts every answer by its route, and those of modules for their watch, other than 503. Streams are not counted. */
export const responseCounting = fp<ResponseCountingOptions>(
  async (app, { requests, watch }) => {
    app.addHook('onResponse', ({ routeOptions: { config }, method, problem }, reply, done) => {
      if (isStream(reply)) return done()
      const { statusCode, elapsedTime } = reply
      requests.observe(config, method, statusCode, elapsedTime)
      if (watch && config.module !== undefined && statusCode !== 503) {
        const isFailed = isModuleFailure(statusCode, problem)
        watch.answers.count(config.module, isFailed)
        if (isFailed) watch.onFailure(config.module)
      }
      done()
    })
  },
  { name: 'answer-counting', fastify: '5.x' },
)
