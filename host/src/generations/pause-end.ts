import { endOf } from '@mortise/application'
import { currentTime, Loop, type Rest } from '@mortise/module-sdk'
import type { FastifyBaseLogger } from 'fastify'
import type { RegisteredModule } from '../modules/host-module.ts'

/** The longest rest, in milliseconds: the clock of the database may be set meanwhile. */
const LOOK = 60_000
/** How long to wait after a failure, in milliseconds. */
const RETRY = 5_000

/** Whether the time of a pause is over, by the clock that all hosts of a database share. */
export const isOver = (module: RegisteredModule): boolean =>
  module.state === 'paused' && endOf(module) <= currentTime()

/** Waits for the end of pauses. On several hosts it comes at the same time. */
export class PauseEnd {
  readonly #loop: Loop
  readonly #onEnd: () => Promise<void>
  /** In epoch milliseconds. */
  #end = Number.POSITIVE_INFINITY

  /** @param onEnd is repeated if it rejects */
  constructor(log: FastifyBaseLogger, onEnd: () => Promise<void>) {
    this.#onEnd = onEnd
    const trouble = 'a module whose pause is over does not serve yet'
    this.#loop = new Loop({ step: () => this.#step(), log, trouble, pause: RETRY })
  }

  /** Waits for the first pause of these modules to end, instead of earlier ones. */
  follow(modules: readonly RegisteredModule[]): void {
    this.#end = Math.min(...modules.flatMap((module) => (module.state === 'paused' ? endOf(module) : [])))
    if (this.#end === Number.POSITIVE_INFINITY) return
    this.#loop.begin()
    this.#loop.wake()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  async #step(): Promise<Rest> {
    const rest = this.#end - currentTime()
    if (rest > 0) return { ms: Math.min(rest, LOOK) }
    await this.#onEnd()
    return { ms: LOOK }
  }
}
