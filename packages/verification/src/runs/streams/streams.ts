import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runReconnects } from './run-reconnects.ts'

export const streams: Verification = {
  promise: 'A client that reconnects to a stream of events misses none and gets none twice.',
  run: (options) =>
    onBothEngines(options, ['events', 'reconnects'], (seed, database, folder) =>
      runReconnects({ folder, seed, database }),
    ),
}
