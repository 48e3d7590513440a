import { randomInt } from 'node:crypto'
import t from 'tap'
import { commandNames } from '../../src/kill-points/commands.ts'
import { hasStrace } from '../../src/kill-points/trace.ts'
import { holdsAtSome } from './holds-at-some.ts'

/** Two of them in a row, others each time. */
const first = randomInt(commandNames.length)
const commands = [...commandNames, ...commandNames].slice(first, first + 2)

t.test(
  'kill -9 of a command leaves the application as before or as after',
  { skip: hasStrace() ? false : 'strace is missing: apt-get install strace' },
  (t) => holdsAtSome(t, { commands, victims: ['command'], every: 100 }),
)
