/** `Symbol.for`, because a host can load several copies of the SDK. */
const kClock = Symbol.for('mortise.clock')
const shared = globalThis as { [kClock]?: { read(): number } }
shared[kClock] ??= { read: () => Date.now() }
const clock = shared[kClock]

/**
 * The time in epoch milliseconds, for `created_at` and the like: use it instead of `Date.now()`. All
 * hosts of a database share it, even if their own clocks differ, and it never goes back, also not
 * with a restart. (If the clock was wrong by more than a day, it does.)
 */
export const currentTime = (): number => clock.read()

/** For the storage: what `currentTime` returns from now on. */
export function setCurrentTime(read: () => number): void {
  clock.read = read
}
