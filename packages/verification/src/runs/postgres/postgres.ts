import { outcome } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { kinds, type Round, runChaos } from './run-chaos.ts'

/** Rounds of a slice; the seed chooses the first kind. */
const SLICE = 2

export const postgres: Verification = {
  promise:
    'No acknowledged write is lost or duplicated when PostgreSQL is killed, promoted, frozen, cut off, slow or out of connections. Hosts report it within 5 s, and write again within 5 s.',
  async run({ seed, minutes, signal, onProgress }) {
    const end = performance.now() + minutes * 60_000
    const isOver = (rounds: number) => signal.aborted || (rounds >= SLICE && performance.now() >= end)
    const { rounds, figures, failures } = await runChaos({ isOver, clients: 8, seed, onProgress })
    const ofKinds = Object.assign({}, ...kinds.map((kind) => figuresOf(rounds, kind)))
    return outcome({ ...figures, ...ofKinds }, failures, ['writes acknowledged'])
  },
}

function figuresOf(all: readonly Round[], kind: string): Record<string, number> {
  const rounds = all.filter((round) => round.kind === kind)
  if (rounds.length === 0) return {}
  const sorted = (times: readonly number[]) => times.toSorted((one, other) => one - other)
  const recovery = sorted(rounds.map((round) => round.recovery))
  const notReady = sorted(rounds.flatMap((round) => round.notReady ?? []))
  return {
    [`${kind}: rounds`]: rounds.length,
    ...(notReady.length > 0 && {
      [`${kind}: not ready, ms (median)`]: median(notReady),
      [`${kind}: not ready, ms (most)`]: notReady.at(-1) as number,
    }),
    [`${kind}: writes again, ms (median)`]: median(recovery),
    [`${kind}: writes again, ms (most)`]: recovery.at(-1) as number,
    [`${kind}: log lines of a host (most)`]: Math.max(...rounds.map((round) => round.lines)),
  }
}

const median = (sorted: readonly number[]) => sorted[Math.floor(sorted.length / 2)] as number
