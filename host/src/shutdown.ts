/** The end of an application: it ends once, as the first call says. */
export class Shutdown {
  readonly #closed = Promise.withResolvers<void>()
  readonly #drained = new AbortController()
  #endOfFailure: (() => Promise<void>) | undefined
  #stopping: Promise<void> | undefined
  #failure: Error | undefined

  constructor() {
    this.closed.catch(() => {}) // nobody has to follow it
  }

  /** Resolves after the end. Rejects after a failure, or if the end fails: the process must end then. */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  /** Why the database cannot be trusted any more. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** Aborts when the drain is to end at once. */
  get drained(): AbortSignal {
    return this.#drained.signal
  }

  skipDrain(): void {
    this.#drained.abort()
  }

  /** From now on `fail` ends with `end`. Before, the start of the application cleans up. */
  endFailureBy(end: () => Promise<void>): void {
    this.#endOfFailure = end
  }

  finish(end: () => Promise<void>): Promise<void> {
    if (this.#stopping === undefined) {
      const { resolve, reject } = this.#closed
      this.#stopping = end()
      this.#stopping.then(() => (this.#failure === undefined ? resolve() : reject(this.#failure)), reject)
    }
    return this.#stopping
  }

  /** The database cannot be trusted any more. */
  fail(error: Error): void {
    if (this.#endOfFailure === undefined) this.abandon(error)
    else {
      this.#failure = error
      this.skipDrain()
      this.finish(this.#endOfFailure).catch(() => {}) // `closed` reports it
    }
  }

  /** The process must end now. */
  abandon(error: unknown): void {
    this.#closed.reject(error)
  }
}
