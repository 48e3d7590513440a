import t from 'tap'
import {
  type Decision,
  decide,
  decisionAt,
  decisionOf,
  decisionText,
  isBrought,
} from '../../src/modules/decision.ts'

const locked = { tree: 'a', enabled: true }
const until = '2026-11-21T09:30:00.000Z'
const decisions: readonly Decision[] = [
  { state: 'active' },
  { state: 'disabled' },
  { state: 'paused' },
  { state: 'paused', until },
]

t.test('each decision replaces each other one in an entry of the lock file', async (t) => {
  for (const before of decisions) {
    for (const after of decisions) {
      const changed = decide(decide(locked, before), after)
      t.strictSame(decisionOf(changed), after, `${decisionText(before)}, then ${decisionText(after)}`)
      t.strictSame(changed, decide(locked, after))
    }
  }
  t.strictSame(decide(decide(locked, { state: 'paused' }), { state: 'active' }), locked)
})

t.test('a pause ends at its time, and without one never', async (t) => {
  const end = Date.parse(until)
  const stateAt = (decision: Decision, now: number) => decisionAt(decide(locked, decision), now).state
  t.equal(stateAt({ state: 'paused', until }, end - 1), 'paused')
  t.equal(stateAt({ state: 'paused', until }, end), 'active')
  t.equal(stateAt({ state: 'paused' }, Number.MAX_SAFE_INTEGER), 'paused')
  t.equal(stateAt({ state: 'paused', until: '2026-99-99T00:00:00.000Z' }, end), 'paused', 'no such day')
  t.equal(stateAt({ state: 'disabled' }, end), 'disabled')
})

t.test('only an entry that was not loaded before is brought by a change', async (t) => {
  const [active, disabled, paused] = decisions.map((decision) => decide(locked, decision))
  t.equal(isBrought(active as never, undefined), true)
  t.equal(isBrought(active as never, disabled), true)
  t.equal(isBrought(active as never, paused), false)
  t.equal(isBrought(paused as never, active), false)
  t.equal(isBrought(paused as never, disabled), true)
  t.equal(isBrought({ ...(paused as typeof locked), tree: 'b' }, active), true)
  t.equal(isBrought(disabled as never, active), false)
})
