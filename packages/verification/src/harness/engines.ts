import { outcome, repeat } from './repeat.ts'
import type { Outcome, RunOptions } from './verification.ts'

/**
 * Repeats a round with one host on SQLite, then with three hosts on PostgreSQL. Each round has its
 * own schema.
 */
export function onBothEngines(
  options: RunOptions,
  needed: readonly string[],
  round: (seed: number, database: string | undefined) => Promise<Outcome>,
): Promise<Outcome> {
  return repeat(options, async (seed) => {
    const sqlite = await round(seed, undefined)
    const postgres = await round(seed, await options.postgres())
    const figures: Record<string, number> = { ...sqlite.figures }
    for (const [name, count] of Object.entries(postgres.figures)) figures[name] = (figures[name] ?? 0) + count
    const failures = [
      ...sqlite.failures.map((text) => `SQLite: ${text}`),
      ...postgres.failures.map((text) => `PostgreSQL: ${text}`),
    ]
    return outcome(figures, failures, needed)
  })
}
