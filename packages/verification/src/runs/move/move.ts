import { outcome, repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runMove } from './run-move.ts'

export const move: Verification = {
  promise:
    'app migrate-data moves every row from SQLite to PostgreSQL while the host serves reads, also after a kill.',
  run: (options) =>
    repeat(options, async (seed) => {
      const { minutes, onProgress } = options
      const size = minutes === 0 ? { purchases: 3000 } : { purchases: 200_000, kills: 3 }
      const { tables, reads, failures } = await runMove({
        ...{ server: await options.postgres(), seed, onProgress, ...size },
      })
      const rows = tables.reduce((sum, table) => sum + table.rows, 0)
      const figures = {
        'rows compared': rows,
        'times killed': size.kills ?? 0,
        'reads meanwhile': reads.count,
      }
      return outcome(figures, failures, ['rows compared', 'reads meanwhile'])
    }),
}
