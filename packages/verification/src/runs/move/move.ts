import { outcome, repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runMove } from './run-move.ts'

export const move: Verification = {
  promise:
    'app migrate-data moves every row from SQLite to PostgreSQL while the host serves reads, also after a kill.',
  run: (options) =>
    repeat(options, async (seed) => {
      const { minutes, onProgress } = options
      const size = minutes === 0 ? { purchases: 3000, kills: 0 } : { purchases: 200_000, kills: 3 }
      const { figures, failures } = await runMove({
        ...{ server: await options.postgres(), seed, onProgress, ...size },
      })
      return outcome(figures, failures, ['rows compared', 'reads meanwhile'])
    }),
}
