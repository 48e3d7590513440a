/** The clock of the process. Its state is private, so that no module replaces it. */
class ProcessClock {
  #read = () => Date.now()

  read(): number {
    return this.#read()
  }

  follow(read: () => number): void {
    this.#read = read
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

/** For the storage: what `currentTime` returns from now on. */
export const setCurrentTime = (read: () => number): void => clock.follow(read)
