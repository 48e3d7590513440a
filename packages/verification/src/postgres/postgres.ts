import { outcome, repeat } from '../repeat.ts'
import type { Verification } from '../verification.ts'
import { kinds, runChaos } from './run-chaos.ts'

export const postgres: Verification = {
  promise: 'No acknowledged write is lost or doubled when PostgreSQL is killed or its standby is promoted.',
  run: (options) =>
    repeat(options, async (seed) => {
      const { onProgress } = options
      const report = await runChaos({ rounds: kinds.length, clients: 8, seed, onProgress })
      const { acknowledged, refused, unknown, failures } = report
      const figures = {
        'writes acknowledged': acknowledged,
        'writes refused': refused,
        'writes of unknown outcome': unknown,
      }
      return outcome(figures, failures, ['writes acknowledged', 'writes refused'])
    }),
}
