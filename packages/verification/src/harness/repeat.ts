import { inTemporaryFolder } from '@mortise/host'
import type { Outcome, RunOptions } from './verification.ts'

/**
 * Runs at least `rounds`, with a new seed each, until the minutes are over, the signal is aborted, or
 * a round fails.
 * @param round gets the seed, and a folder that is removed afterwards; to repeat a round: `npm run
 * verify -- NAME --seed SEED`
 * @returns the sums of the figures
 */
export async function repeat(
  {
    seed,
    minutes,
    rounds,
    signal,
    onProgress,
  }: Pick<RunOptions, 'seed' | 'minutes' | 'rounds' | 'signal' | 'onProgress'>,
  round: (seed: number, folder: string) => Promise<Outcome>,
): Promise<Outcome> {
  const end = performance.now() + minutes * 60_000
  const figures: Record<string, number> = { rounds: 0 }
  for (let own = seed; ; own += 1) {
    const {
      figures: more,
      failures,
      skipped: reason,
    } = await inTemporaryFolder(undefined, (folder) => round(own, folder))
    if (reason !== undefined) return skipped(reason)
    figures.rounds = (figures.rounds ?? 0) + 1
    for (const [name, count] of Object.entries(more)) figures[name] = (figures[name] ?? 0) + count
    if (failures.length > 0) return { figures, failures: failures.map((text) => `seed ${own}: ${text}`) }
    const isOver = figures.rounds >= rounds && performance.now() >= end
    if (signal.aborted || isOver) return { figures, failures }
    onProgress(`${figures.rounds} rounds: ${JSON.stringify(more)}`)
  }
}

/** The outcome of a round that this machine cannot run. */
export const skipped = (reason: string): Outcome => ({ figures: {}, failures: [], skipped: reason })

/**
 * The outcome of a round. It fails if a figure of `needed` is zero, because it then tested nothing.
 */
export function outcome(
  figures: Readonly<Record<string, number>>,
  failures: readonly string[],
  needed: readonly string[] = [],
): Outcome {
  const missing = needed.filter((name) => !figures[name]).map((name) => `the run has counted no ${name}`)
  return { figures, failures: [...failures, ...missing] }
}
