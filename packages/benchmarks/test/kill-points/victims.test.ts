import t from 'tap'
import { hasStrace } from '../../src/kill-points/trace.ts'
import { holdsAtSome } from './holds-at-some.ts'

const skip = hasStrace() ? false : 'strace is missing: apt-get install strace'

t.test('kill -9 of a command beside a host leaves that serving, as before or as after', { skip }, (t) =>
  holdsAtSome(t, { commands: ['module-upgrade'], victims: ['command-served'], every: 60, most: 1 }),
)

t.test(
  'kill -9 of the host that carries it out leaves the application as before or as after',
  { skip },
  (t) => holdsAtSome(t, { commands: ['module-upgrade'], victims: ['host'], every: 30, most: 1 }),
)
