import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { runReconnects } from './run-reconnects.ts'

export const streams: Verification = {
  promise: 'A client that reconnects to a stream of events misses none and gets none twice.',
  run: (options) =>
    onBothEngines(options, ['events', 'reconnects'], async (seed, database, folder) => {
      const { onProgress } = options
      const { reconnects, events, disruptions, failures } = await runReconnects({
        ...{ folder, reconnects: 4, seed, database, onProgress },
      })
      return { figures: { reconnects, events, 'hosts killed': disruptions.killed ?? 0 }, failures }
    }),
}
