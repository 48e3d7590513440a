/** The clock of the process. Its state is private, so that no module replaces it. */
class ProcessClock {
  /** The last one counts: a command may open a second database for a moment. */
  #sources = [() => Date.now()]

  read(): number {
    return (this.#sources.at(-1) as () => number)()
  }

  follow(source: () => number): () => void {
    this.#sources.push(source)
    return () => {
      this.#sources = this.#sources.filter((one) => one !== source)
    }
  }
}

/** `Symbol.for`, because a host can load several copies of the SDK. */
const kClock = Symbol.for('mortise.clock')
const shared = globalThis as { [kClock]?: Pick<ProcessClock, 'read' | 'follow'> }
shared[kClock] ??= new ProcessClock()
const clock = shared[kClock]

/**
 * The time in epoch milliseconds, for `created_at` and the like: use it instead of `Date.now()`. All
 * hosts of a database share it, even if their own clocks differ, and it never goes back, also not
 * with a restart. (If the clock was wrong by more than a day, it does.)
 */
export const currentTime = (): number => clock.read()

/**
 * For the storage: what `currentTime` returns from now on.
 * @returns a function that ends it
 */
export const setCurrentTime = (source: () => number): (() => void) => clock.follow(source)
