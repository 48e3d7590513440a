import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestHost, type TestCaller, type TestHost } from '@mortise/module-testkit'

/** A host in this process with one of our modules, on SQLite and without rate limits. */
export async function hostWith(name: string): Promise<{ host: TestHost; close: () => Promise<void> }> {
  const cleanUps: (() => unknown)[] = []
  const directory = dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)))
  const host = await createTestHost(
    { teardown: (cleanUp) => void cleanUps.push(cleanUp) },
    {
      modules: [{ directory }],
      rehearse: false,
      config: { rateLimit: { max: 0, maxPerAddress: 100_000 } },
    },
  )
  const close = async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
  }
  return { host, close }
}

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
