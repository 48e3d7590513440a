import { rm } from 'node:fs/promises'
import { checkStopped } from './check.ts'
import type { Prepared } from './commands.ts'

// A process that checks the results of kills, so that several are checked in parallel.

export interface CheckRequest {
  readonly prepared: Prepared
  readonly directory: string
}

export interface CheckResult {
  /** What does not hold; undefined if everything does. */
  readonly failure?: string | undefined
}

const known = new Set<string>()

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
