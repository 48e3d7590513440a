/** Nothing to do for this long; with `deaf`, even after a wake-up. */
export interface Rest {
  /** In milliseconds. */
  readonly ms: number
  readonly deaf?: boolean
}

/** Runs one step after the other in the background, until it is stopped. */
export class Loop {
  readonly #step: () => Promise<Rest>
  #running: Promise<void> | undefined
  #stopped = false
  #woken = false
  #deaf = false
  #endRest = () => {}
  #waiting: (() => void)[] = []

  /** @param step must not reject; returns when the next one is due */
  constructor(step: () => Promise<Rest>) {
    this.#step = step
  }

  get isStopped(): boolean {
    return this.#stopped
  }

  begin(): void {
    this.#running ??= this.#run()
  }

  /** Reports that there may be work. */
  wake(): void {
    this.#woken = true
    if (!this.#deaf) this.#endRest()
  }

  /** Resolves when a step that begins from now on finds no work. */
  idle(): Promise<void> {
    if (this.#stopped) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    this.wake()
    return promise
  }

  /** Resolves when the current step, which is the last one, is done. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#endRest()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false
      const waiting = this.#waiting
      this.#waiting = []
      const { ms, deaf = false } = await this.#step()
      this.#deaf = deaf
      if (ms > 0 && !deaf) for (const resolve of waiting) resolve()
      else this.#waiting.push(...waiting)
      if (ms > 0 && !this.#stopped && (deaf || !this.#woken)) await this.#rest(ms)
    }
    for (const resolve of this.#waiting) resolve()
  }

  #rest(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms).unref()
    this.#endRest = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }
}
