import type { LockFile } from '@mortise/application'
import type { FastifyBaseLogger } from 'fastify'
import { settlesWithin } from '../telemetry/settles-within.ts'
import { type EventLoopWatch, limits } from './loop-watch.ts'
import { failsMore, type ResponseCounts } from './response-counts.ts'
import { type Change, revertChange } from './revert-change.ts'

/** How long a change is watched after its switch, in milliseconds. */
const WATCH_FOR = 10_000

/** A change that has just gone live, with the data to judge it. */
export interface LiveChange extends Change {
  readonly responses: { readonly previous: ResponseCounts; readonly next: ResponseCounts }
}

export interface SettlingOptions {
  readonly directory: string
  readonly log: FastifyBaseLogger
  readonly loop: EventLoopWatch
  /** Serves what was installed before. */
  readonly serve: (lock: LockFile, change: Change) => Promise<void>
}

/** `superseded`: a newer change, or the end of the process, ended the watch. */
export type Verdict = 'settled' | 'superseded' | 'reverted'

/** The watch of one change: reverts it if a module that it brought or changed fails. */
export class Settling {
  readonly #change: LiveChange
  readonly #options: SettlingOptions
  readonly #verdict = Promise.withResolvers<Verdict>()
  readonly #ended = new AbortController()
  readonly #until: { at: number; timer: NodeJS.Timeout }
  #reverting: Promise<boolean> | undefined

  constructor(change: LiveChange, options: SettlingOptions) {
    this.#change = change
    this.#options = options
    const { previous, next, config, external, fresh } = change
    options.loop.follow({ previous, next, config, external, fresh }, ({ module, at }) => {
      void this.revert(`${module} blocked the event loop for more than ${limits.blocked / 1000} s, at ${at}`)
    })
    this.#until = { at: performance.now() + WATCH_FOR, timer: this.#timer(WATCH_FOR) }
  }

  get generation(): number {
    return this.#change.next.generation
  }

  get verdict(): Promise<Verdict> {
    return this.#verdict.promise
  }

  /** Watches at least this many milliseconds. Resolves to whether the watch ended within them. */
  async wait(milliseconds: number): Promise<boolean> {
    if (performance.now() + milliseconds > this.#until.at && !this.#ended.signal.aborted) {
      clearTimeout(this.#until.timer)
      this.#until.at = performance.now() + milliseconds
      this.#until.timer = this.#timer(milliseconds)
      await this.verdict
      return true
    }
    return settlesWithin(milliseconds, this.verdict)
  }

  /** A module's response was a failure of its own. */
  failed(module: string): void {
    const { fresh, responses } = this.#change
    if (!Object.hasOwn(fresh, module)) return
    const [previous, next] = [responses.previous.of(module), responses.next.of(module)]
    if (!failsMore(previous, next)) return
    void this.revert(
      `${module} failed ${next.failed} of ${next.all} requests (5xx), and before the change ${previous.failed} of ${previous.all}`,
    )
  }

  /** The fresh module with this folder in the store. */
  freshIn(folder: string): string | undefined {
    return Object.entries(this.#change.fresh).find(([, own]) => own === folder)?.[0]
  }

  /** Ends the watch: the change is no longer reverted, unless the revert has begun. */
  end(verdict: Verdict = 'superseded'): void {
    // The next change may be watched already.
    if (!this.#ended.signal.aborted) this.#options.loop.follow(undefined)
    this.#ended.abort()
    clearTimeout(this.#until.timer)
    this.#verdict.resolve(verdict)
  }

  /** @returns false if there is a newer change, or the revert is impossible */
  revert(reason: string): Promise<boolean> {
    if (this.#ended.signal.aborted && this.#reverting === undefined) return Promise.resolve(false)
    this.#reverting ??= this.#revert(reason)
    return this.#reverting
  }

  async #revert(reason: string): Promise<boolean> {
    const { directory, log, serve } = this.#options
    const { generation } = this
    clearTimeout(this.#until.timer)
    try {
      const back = await revertChange(directory, this.#change, reason, {
        signal: this.#ended.signal,
        serve: (lock) => serve(lock, this.#change),
      })
      if (back !== undefined)
        log.error({ generation, reason }, `generation ${generation} is reverted: ${reason}`)
      this.end(back === undefined ? 'superseded' : 'reverted')
      return back !== undefined
    } catch (error) {
      log.error(error, `generation ${generation} cannot be reverted: ${reason}`)
      this.end()
      return false
    }
  }

  #timer(milliseconds: number): NodeJS.Timeout {
    return setTimeout(async () => {
      await this.#options.loop.caughtUp()
      if (this.#reverting === undefined && performance.now() >= this.#until.at - 5) this.end('settled')
    }, milliseconds).unref()
  }
}
