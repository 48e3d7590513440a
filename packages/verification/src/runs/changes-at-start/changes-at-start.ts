import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import { outcome, repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runChangesAtStart } from './run-changes-at-start.ts'

/** The number of changes in a round, and in the slice. */
const CHANGES = 10
const SLICE = 4

export const changesAtStart: Verification = {
  promise:
    'A change at any moment around the start or the stop of a host is served when its command has ended with 0: by that host, or by the next.',
  run: (options) =>
    repeat(options, async (seed, directory) => {
      const isSlice = options.minutes === 0 && options.rounds === 1
      // Of three rounds one is on SQLite, one on PostgreSQL, one on PostgreSQL with workers.
      const kind = isSlice ? 0 : seed % 3
      const schema = kind === 0 ? undefined : ownSchema(await options.postgres())
      try {
        const { figures, failures } = await runChangesAtStart({
          ...{ directory, random: new Random(seed), changes: isSlice ? SLICE : CHANGES },
          ...{ database: schema?.url, workers: kind === 2 ? 2 : undefined, signal: options.signal },
        })
        return outcome(figures, failures, ['changes'])
      } finally {
        await schema?.drop()
      }
    }),
}
