import t from 'tap'
import { deletable, type Status, statuses, transitions } from '../src/status.ts'

t.test('every status can be reached from pending', async (t) => {
  const reached = new Set<Status>(['pending'])
  for (const from of reached) {
    for (const to of Object.keys(transitions[from]) as Status[]) reached.add(to)
  }
  t.same([...reached].sort(), statuses.toSorted())
})

t.test('nothing is owed on a purchase that may be deleted', async (t) => {
  t.same([...deletable].sort(), ['cancelled', 'expired', 'pending'])
})
