import { setTimeout as pause } from 'node:timers/promises'

/** Waits until it holds. @returns false if it takes longer than this many milliseconds */
export async function until(
  holds: () => boolean | Promise<boolean>,
  milliseconds: number,
  interval = 20,
): Promise<boolean> {
  for (const end = performance.now() + milliseconds; ; await pause(interval)) {
    if (await holds()) return true
    if (performance.now() > end) return false
  }
}

/** The result of `work` within this time, in milliseconds; undefined if it takes longer. */
export async function within<Result>(
  milliseconds: number,
  work: Promise<Result>,
): Promise<Result | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
