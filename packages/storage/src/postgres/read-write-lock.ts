/** A task that must run alone goes before later ones. */
export class ReadWriteLock {
  /** Settles when the current tasks are done. */
  #inside = new Set<Promise<unknown>>()
  #alone: Promise<unknown> | undefined

  async shared<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.#alone !== undefined) await this.#alone
    const running = work()
    const done = running.catch(() => {})
    this.#inside.add(done)
    done.then(() => this.#inside.delete(done))
    return running
  }

  async exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    const before = this.#alone
    const running = (async () => {
      await before
      await Promise.all(this.#inside)
      return work()
    })()
    const done = running.catch(() => {})
    this.#alone = done
    done.then(() => {
      if (this.#alone === done) this.#alone = undefined
    })
    return running
  }
}
