import { Random } from '../../harness/random.ts'
import { outcome, repeat, skipped } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { type CommandName, commandNames } from './commands.ts'
import { hasStrace } from './trace.ts'
import { tryPoints, type Victim } from './try-points.ts'

/** Killing a host, or killing beside one, takes a separate run each. */
const slices: readonly { victims: Victim[]; every: number; most?: number }[] = [
  { victims: ['command'], every: 100 },
  { victims: ['command-served', 'host'], every: 60, most: 1 },
]

export const kill: Verification = {
  promise:
    'After a kill of a command, or of the host that carries it out, at any system call, the application is as before or as after, and the next command cleans up.',
  run: (options) =>
    repeat(options, async (seed) => {
      if (!hasStrace()) return skipped('strace is missing: apt-get install strace')
      const random = new Random(seed)
      const command = commandNames[random.between(0, commandNames.length - 1)] as CommandName
      const figures = { kills: 0, 'different states checked': 0 }
      const failures: string[] = []
      for (const { every, ...slice } of slices) {
        const folder = await tryPoints({
          ...{ ...slice, every, offset: random.between(0, every - 1), commands: [command] },
          onResult({ victim, tried, states, failures: failed }) {
            figures.kills += tried
            figures['different states checked'] += states
            for (const { number, call, failure } of failed) {
              failures.push(`${command}, ${victim} killed at call ${number} (${call}): ${failure}`)
            }
          },
        })
        if (failures.length > 0) failures.push(`What it left is in ${folder}`)
      }
      return outcome(figures, failures, ['kills'])
    }),
}
