// biome-ignore-all lint/suspicious/noExplicitAny: an engine answers each step in that step's own shape

/**
 * Runs a generator to its end. The error of a step is thrown into it, and it may continue; after an
 * error that `ends` everything it stays where it is.
 */
export function drive<Step, Result>(
  generator: Generator<Step, Result, any>,
  take: (step: Step) => unknown,
  ends: (error: unknown) => boolean,
): Result {
  let next = generator.next()
  while (!next.done) {
    let answer: unknown
    try {
      answer = take(next.value)
    } catch (error) {
      if (ends(error)) throw error
      next = generator.throw(error)
      continue
    }
    next = generator.next(answer)
  }
  return next.value
}

/** The same for asynchronous steps. */
export async function driveAsync<Step, Result>(
  generator: Generator<Step, Result, any>,
  take: (step: Step) => Promise<unknown>,
  ends: (error: unknown) => boolean,
): Promise<Result> {
  let next = generator.next()
  while (!next.done) {
    let answer: unknown
    try {
      answer = await take(next.value)
    } catch (error) {
      if (ends(error)) throw error
      next = generator.throw(error)
      continue
    }
    next = generator.next(answer)
  }
  return next.value
}
