import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runDuplicates } from './run-duplicates.ts'

export const duplicates: Verification = {
  promise:
    'A request that is repeated with its Idempotency-Key takes effect once, and every response to it is the same, byte for byte.',
  run: (options) =>
    onBothEngines(options, ['hosts killed', 'connections cut'], async (seed, database, folder) => {
      const { onProgress } = options
      const report = await runDuplicates({ folder, keys: 100, seed, database, killWithin: 150, onProgress })
      const { keys, requests, acknowledged, kills, cuts, failures } = report
      const cut = Object.values(cuts).reduce((sum, count) => sum + count, 0)
      return {
        figures: {
          keys,
          requests,
          'responses compared': acknowledged,
          'hosts killed': kills,
          'connections cut': cut,
        },
        failures,
      }
    }),
}
