import { ownSchema } from '../../harness/own-schema.ts'
import { Random } from '../../harness/random.ts'
import { outcome, repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runHanging } from './run-hanging.ts'

/** The number of stops in one round. */
const STEPS = 3

export const hanging: Verification = {
  promise:
    'A host, a worker or a command that is stopped for a while, or permanently, blocks no other command and loses no acknowledged purchase. All processes serve one generation afterwards.',
  run: (options) =>
    repeat(options, async (seed, directory) => {
      const random = new Random(seed)
      // A slice has no time for effects that take ten seconds.
      const isSlice = options.minutes === 0
      const schema = !isSlice && seed % 2 === 1 ? ownSchema(await options.postgres()) : undefined
      try {
        const round = { directory, random, database: schema?.url, steps: isSlice ? 1 : STEPS, isSlice }
        const { figures, failures } = await runHanging(round)
        // The command of a slice may end before its stop.
        return outcome(figures, failures, [
          'purchases acknowledged',
          ...(isSlice ? [] : ['processes stopped']),
        ])
      } finally {
        await schema?.drop()
      }
    }),
}
