import type { TestCaller } from '@mortise/module-testkit'

/**
 * How long each path takes, in milliseconds, warm: the sixth quickest of 25.
 * @throws if a response is not 200
 */
export async function timeRequests(caller: TestCaller, paths: readonly string[]): Promise<number[]> {
  const times: number[] = []
  for (const path of paths) {
    const taken: number[] = []
    while (taken.length < 25) {
      const start = performance.now()
      const response = await caller.get(path)
      taken.push(performance.now() - start)
      if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.body}`)
    }
    times.push(taken.sort((one, other) => one - other)[5] as number)
  }
  return times
}
