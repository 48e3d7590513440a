import t from 'tap'
import { deletable, isStatus, type Status, statuses, transitions } from '../src/status.ts'

t.test('knows its statuses, and nothing that an object inherits', async (t) => {
  for (const status of statuses) t.ok(isStatus(status))
  for (const text of ['', 'Pending', 'paid', 'toString', '__proto__']) t.notOk(isStatus(text), text)
})

t.test('every status can be reached from pending', async (t) => {
  const reached = new Set<Status>(['pending'])
  for (const from of reached) {
    for (const to of Object.keys(transitions[from]) as Status[]) reached.add(to)
  }
  t.same([...reached].sort(), statuses.toSorted())
})

t.test('what is deleted can be owed nothing', async (t) => {
  t.same([...deletable].sort(), ['cancelled', 'expired', 'pending'])
})
