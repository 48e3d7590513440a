import t from 'tap'
import * as sdk from '../src/index.ts'
import * as transaction from '../src/transaction.ts'
import { notingSteps, placeOf, rememberPlaces } from '../src/unrun-steps.ts'

const { run, sql } = sdk
const [first, second] = [sql`DELETE FROM first`, sql`DELETE FROM second`]

t.test('a step is noted from when it is made until it begins', async (t) => {
  const unrun: unknown[] = []
  const steps = notingSteps(unrun, () => [run(first), run(second)] as const)
  t.strictSame(unrun, [first, second])
  notingSteps(unrun, () => steps[0].next())
  t.strictSame(unrun, [second])
  run(first)
  t.strictSame(unrun, [second], 'outside of a transaction nothing is noted')
})

t.test('the steps of a transaction within another one are its own, even if it throws', async (t) => {
  const [outer, inner]: unknown[][] = [[], []]
  notingSteps(outer as unknown[], () => {
    t.throws(() =>
      notingSteps(inner as unknown[], () => {
        run(first)
        throw new Error('no luck')
      }),
    )
    run(second)
  })
  t.strictSame([outer, inner], [[second], [first]])
})

t.test('the place of a step is remembered on request', async (t) => {
  run(first)
  t.equal(placeOf(first), undefined)
  rememberPlaces()
  const step = run(first)
  t.match(placeOf(first)?.stack, /unrun-steps\.test\.ts/)
  step.next()
  t.equal(placeOf(first), undefined)
})

t.test('what a module imports has none of it', async (t) => {
  const names = [...Object.keys(sdk), ...Object.keys(transaction)]
  t.strictSame(
    names.filter((name) => /inHand|noting|placeOf|rememberPlaces|noteMade|noteBegun/.test(name)),
    [],
  )
})
