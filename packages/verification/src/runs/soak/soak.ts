import { outcome } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runSoak } from './run-soak.ts'

/** Long enough for a step of every kind. */
const SLICE = 8

export const soak: Verification = {
  promise:
    'No request fails and no write is lost while modules are installed, upgraded, rolled back and removed, commands are killed, and memory stays flat.',
  async run({ seed, minutes, signal, onProgress }) {
    // Not AbortSignal.any, which Node may forget while nothing listens to it (nodejs/node#65995).
    const over = new AbortController()
    signal.addEventListener('abort', () => over.abort())
    const timer = minutes === 0 ? undefined : setTimeout(() => over.abort(), minutes * 60_000)
    const { figures, failures } = await runSoak({
      ...{ clients: minutes === 0 ? 8 : 32, seed, onProgress, signal: over.signal },
      steps: minutes === 0 ? SLICE : Number.POSITIVE_INFINITY,
    }).finally(() => clearTimeout(timer))
    // In a slice a command may end before it is killed.
    const kills = minutes === 0 ? [] : ['changes killed']
    return outcome(figures, failures, ['writes acknowledged', 'changes done', ...kills])
  },
}
