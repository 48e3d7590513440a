import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { outcome, repeat } from './repeat.ts'
import type { Outcome, RunOptions } from './verification.ts'

/**
 * Repeats a round with one host on SQLite, then with three hosts on PostgreSQL. Each round has its
 * own schema and folder.
 */
export function onBothEngines(
  options: RunOptions,
  needed: readonly string[],
  round: (seed: number, database: string | undefined, folder: string) => Promise<Outcome>,
): Promise<Outcome> {
  return repeat(options, async (seed, folder) => {
    const on = async (database?: string) => {
      const own = join(folder, database === undefined ? 'sqlite' : 'postgres')
      await mkdir(own)
      return await round(seed, database, own)
    }
    const sqlite = await on()
    const postgres = await on(await options.postgres())
    const figures: Record<string, number> = { ...sqlite.figures }
    for (const [name, count] of Object.entries(postgres.figures)) figures[name] = (figures[name] ?? 0) + count
    const failures = [
      ...sqlite.failures.map((text) => `SQLite: ${text}`),
      ...postgres.failures.map((text) => `PostgreSQL: ${text}`),
    ]
    return outcome(figures, failures, needed)
  })
}
