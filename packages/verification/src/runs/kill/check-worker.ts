import { rm } from 'node:fs/promises'
import { Child } from '../../harness/child.ts'
import { checkStopped } from './check.ts'
import type { Prepared } from './commands.ts'

interface CheckRequest {
  readonly prepared: Prepared
  readonly directory: string
}

/** What does not hold; undefined if everything does. */
interface CheckResult {
  readonly failure?: string | undefined
}

const known = new Set<string>()

// A process that checks the results of kills, so that several are checked in parallel.
if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  process.on('message', async ({ prepared, directory }: CheckRequest) => {
    let failure: string | undefined
    try {
      await checkStopped(prepared, directory, known)
      for (const folder of [directory, `${directory}.started`]) await rm(folder, { recursive: true })
    } catch (error) {
      failure = (error as Error).message
    }
    process.send?.({ failure } satisfies CheckResult)
  })
}

/** Two checking processes, each with one application at a time. */
export class Checkers {
  readonly #children = [1, 2].map(() => new Child(new URL(import.meta.url)))
  readonly #queues: Promise<unknown>[] = this.#children.map(() => Promise.resolve())
  #next = 0

  /** @returns what does not hold */
  async check(prepared: Prepared, directory: string): Promise<string | undefined> {
    const index = this.#next++ % this.#children.length
    const child = this.#children[index] as Child
    const request: CheckRequest = { prepared, directory }
    const result = (this.#queues[index] as Promise<unknown>).then(() => child.ask<CheckResult>(request))
    this.#queues[index] = result
    return (await result).failure
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()))
  }
}
