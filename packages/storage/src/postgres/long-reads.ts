/** How many run at once on one host. */
const AT_ONCE = 4

/** Long reads take turns: each holds a connection, and those of short reads and of writes are the same. */
export class LongReads {
  readonly #waiting: (() => void)[] = []
  #running = 0

  async run<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.#running < AT_ONCE) this.#running += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await read()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}
