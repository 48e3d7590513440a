import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runDuplicates } from './run-duplicates.ts'

export const duplicates: Verification = {
  promise:
    'A request that is repeated with its Idempotency-Key takes effect once, and every response to it is the same, byte for byte.',
  run: (options) =>
    onBothEngines(options, ['hosts killed', 'connections cut'], (seed, database, folder) =>
      runDuplicates({ folder, seed, database, onProgress: options.onProgress }),
    ),
}
