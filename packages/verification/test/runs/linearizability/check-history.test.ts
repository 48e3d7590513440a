import t from 'tap'
import { checkHistory, type Model, type Operation } from '../../../src/runs/linearizability/check-history.ts'

interface Register {
  readonly value: number
}
/** A number writes it, undefined reads. */
type Input = number | undefined

const register: Model<Register, Input, number> = {
  initial: { value: 0 },
  step(state, input, output) {
    if (input === undefined) return output === state.value ? state : undefined
    return input === state.value ? state : { value: input }
  },
  isRead: (input) => input === undefined,
  isPast: () => false,
}

const write = (value: number, called: number, returned: number): Operation<Input, number> => ({
  ...{ input: value, called, returned },
  output: returned === Number.POSITIVE_INFINITY ? undefined : value,
})
const read = (output: number, called: number, returned: number): Operation<Input, number> => ({
  ...{ input: undefined, output, called, returned },
})

const histories: readonly [name: string, linearizable: boolean, history: Operation<Input, number>[]][] = [
  ['nothing', true, []],
  ['one after the other', true, [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)]],
  ['a read of what was never written', false, [write(1, 0, 1), read(2, 2, 3)]],
  ['a read of what was replaced before', false, [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)]],
  ['a read beside a write, before it', true, [write(1, 0, 10), read(0, 1, 2), read(1, 3, 4)]],
  ['two reads beside a write, back in time', false, [write(1, 0, 10), read(1, 1, 2), read(0, 3, 4)]],
  ['writes at once, in either order', true, [write(1, 0, 5), write(2, 0, 5), read(1, 6, 7), read(1, 8, 9)]],
  ['writes at once, in both orders', false, [write(1, 0, 5), write(2, 0, 5), read(1, 6, 7), read(2, 8, 9)]],
  ['a write without a response that was done', true, [write(1, 0, Number.POSITIVE_INFINITY), read(1, 8, 9)]],
  ['one that was not', true, [write(1, 0, Number.POSITIVE_INFINITY), read(0, 8, 9)]],
  [
    'one that is done late',
    true,
    [write(1, 0, Number.POSITIVE_INFINITY), read(0, 1, 2), write(2, 3, 4), read(2, 5, 6), read(1, 7, 8)],
  ],
  [
    'one that was done twice',
    false,
    [...[write(1, 0, Number.POSITIVE_INFINITY), read(1, 1, 2), write(2, 3, 4), read(2, 5, 6), read(1, 7, 8)]],
  ],
  ['one that was seen before it was sent', false, [read(1, 0, 1), write(1, 2, Number.POSITIVE_INFINITY)]],
  [
    'a write that changes nothing at first',
    true,
    [write(2, 0, 9), write(0, 0, 9), read(2, 1, 2), read(0, 10, 11)],
  ],
  ['moments that touch are in either order', true, [write(1, 0, 1), read(0, 1, 2)]],
]

for (const [name, linearizable, history] of histories) {
  t.test(name, async (t) => {
    t.equal(checkHistory(register, history).linearizable, linearizable)
    t.equal(checkHistory(register, history.toReversed()).linearizable, linearizable, 'noted in another order')
  })
}

t.test('an illegal transition names the allowed ones', async (t) => {
  const { explained, state, next } = checkHistory(register, [write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)])
  t.equal(explained, 2)
  t.same(state, { value: 2 })
  t.same(next, [read(1, 4, 5)])
})

t.test('a search that takes too long gives no verdict', async (t) => {
  const history = Array.from({ length: 12 }, (_, index) => write(index + 1, 0, 1))
  t.equal(checkHistory(register, [...history, read(0, 2, 3)], 100).linearizable, undefined)
})

// Against the definition itself: every order tried.
t.test('the verdict on random histories is that of trying all orders', async (t) => {
  const { Random } = await import('../../../src/harness/random.ts')
  const random = new Random(7)
  const counts = { true: 0, false: 0 }
  for (let round = 0; round < 1500; round++) {
    const history = Array.from({ length: 6 }, () => {
      const called = random.between(0, 12)
      const value = random.between(0, 2)
      const returned = called + random.between(1, 6)
      if (random.chance(0.5)) return read(value, called, returned)
      return write(value, called, random.chance(0.2) ? Number.POSITIVE_INFINITY : returned)
    })
    const expected = tryAll(register.initial, history)
    counts[`${expected}`] += 1
    const found = checkHistory(register, history).linearizable
    if (found !== expected) t.equal(found, expected, JSON.stringify(history))
  }
  t.ok(counts.true > 100 && counts.false > 100, JSON.stringify(counts))
})

function tryAll(state: Register, left: readonly Operation<Input, number>[]): boolean {
  if (left.every(({ output }) => output === undefined)) return true
  const soonest = Math.min(...left.map(({ returned }) => returned))
  return left.some((operation) => {
    if (operation.called > soonest) return false
    const next = register.step(state, operation.input, operation.output)
    return (
      next !== undefined &&
      tryAll(
        next,
        left.filter((other) => other !== operation),
      )
    )
  })
}
