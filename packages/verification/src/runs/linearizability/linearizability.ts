import { onBothEngines } from '../../harness/engines.ts'
import type { Verification } from '../../harness/verification.ts'
import { findBugs } from './find-bugs.ts'
import { runLinearizability } from './run-linearizability.ts'

/** What a slice plants; a longer run plants all. */
const FEW = [
  'a claim loses what the guest adds meanwhile',
  'a cart is remembered for 20 ms',
  'transactions are not serializable',
]

export const linearizability: Verification = {
  promise:
    'A cart behaves for 16 concurrent clients as if they used it one after the other, and the check finds planted mistakes.',
  async run(options) {
    const { seed, minutes, postgres, onProgress } = options
    const only = minutes === 0 ? { only: FEW } : {}
    const sound = await onBothEngines(options, ['hosts killed', 'claims'], async (roundSeed, database) => {
      const report = await runLinearizability({ rounds: 2, seed: roundSeed, database, killEvery: 2 })
      const { operations, noResponse, claims, kills, failure } = report
      return {
        figures: { operations, 'without a response': noResponse, claims, 'hosts killed': kills },
        failures: failure === undefined ? [] : [failure],
      }
    })
    const { planted, missed } = await findBugs({ seed, postgres, ...only, onProgress })
    return {
      figures: { ...sound.figures, 'planted mistakes found': planted.length - missed.length },
      failures: [...sound.failures, ...missed.map((name) => `planted and not found: ${name}`)],
    }
  },
}
