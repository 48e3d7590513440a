import { randomInt } from 'node:crypto'
import type { Test } from 'tap'
import { type TryOptions, tryPoints } from '../../src/kill-points/try-points.ts'

/** A slice, another one each time; `npm run kill-points -w packages/benchmarks` tries every call. */
export async function holdsAtSome(
  t: Test,
  options: Pick<TryOptions, 'commands' | 'victims' | 'every' | 'most'>,
): Promise<void> {
  const offset = randomInt(options.every)
  let points = 0
  await tryPoints({
    ...options,
    offset,
    onResult({ command, victim, tried, failures }) {
      points += tried
      t.strictSame(
        failures,
        [],
        `${command}, ${victim}, --every ${options.every} --seed ${offset}: ${tried} points`,
      )
    },
  })
  t.not(points, 0)
}
