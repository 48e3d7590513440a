import type { Outcome, Verification } from '../../harness/verification.ts'
import { runResponsive } from './run-responsive.ts'

const MOST_ROWS = 1_200_000

export const responsive: Verification = {
  promise:
    'With a million events and purchases, /health/live responds within 100 ms during every list, stream, migration or copy.',
  async run({ seed, minutes, signal, onProgress }) {
    const end = performance.now() + minutes * 60_000
    const rows = minutes === 0 ? 20_000 : Math.min(MOST_ROWS, Math.ceil(minutes * 200_000))
    const figures: Record<string, number> = {}
    for (let own = seed; ; own += 1) {
      const round: Outcome = await runResponsive({ rows, seed: own, isThorough: minutes > 0, onProgress })
      for (const [name, figure] of Object.entries(round.figures))
        figures[name] = Math.max(figure, figures[name] ?? 0)
      const failures = round.failures.map((text) => `seed ${own}: ${text}`)
      if (failures.length > 0 || signal.aborted || performance.now() >= end) return { figures, failures }
    }
  },
}
