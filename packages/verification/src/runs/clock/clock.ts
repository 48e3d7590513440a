import { onBothEngines } from '../../harness/engines.ts'
import { outcome, repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runClock } from './run-clock.ts'

const needed = ['purchases', 'deliveries', 'jumps', 'kills', 'repetitions']

export const clock: Verification = {
  promise:
    'While a clock jumps hours or days forwards and backwards and hosts are killed, no acknowledged write is lost or done twice, and lists keep their order. Every event reaches its webhook soon after the clock is right.',
  run(options) {
    if (options.minutes > 0) return onBothEngines(options, needed, runClock)
    return repeat(options, async (seed, folder) => {
      const { figures, failures } = await runClock(seed, undefined, folder)
      return outcome(figures, failures, needed)
    })
  },
}
