import fc from 'fast-check'
import t from 'tap'
import { WINDOW, WindowCounter } from '../../../src/http/limits/window-counter.ts'

/** The beginning of some minute. */
const START = 29_000_000 * WINDOW

const takeMany = (counter: WindowCounter, count: number, now: number) =>
  Array.from({ length: count }, () => counter.take('key', now)).filter(({ isSpent }) => !isSpent).length

t.test('each key may use exactly its limit', async (t) => {
  const counter = new WindowCounter(3)
  t.strictSame(counter.take('key', START), { isSpent: false, remaining: 2, seconds: 60 })
  t.equal(takeMany(counter, 5, START + 30_000), 2)
  t.match(counter.take('key', START + 30_000), { isSpent: true, remaining: 0 })
  t.equal(counter.take('other', START + 30_000).remaining, 2)
})

t.test('the usage of a minute fades during the next one', async (t) => {
  const counter = new WindowCounter(100)
  t.equal(takeMany(counter, 200, START + 59_000), 100)
  t.equal(takeMany(counter, 200, START + WINDOW), 0, 'nothing is new at the turn of the minute')
  t.equal(takeMany(counter, 200, START + WINDOW + 15_000), 25)
  t.equal(takeMany(counter, 200, START + WINDOW + 30_000), 25)
  t.equal(takeMany(counter, 200, START + 3 * WINDOW), 100)
})

t.test('a refused caller is accepted exactly after Retry-After', async (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.nat(40_000), { maxLength: 20 }),
      fc.nat(),
      (max, pauses, any) => {
        const amount = 1 + (any % max)
        const counter = new WindowCounter(max)
        let now = START
        for (const pause of pauses) {
          now += pause
          takeMany(counter, Math.ceil(max / 3), now)
        }
        takeMany(counter, max, now)
        const { isSpent, seconds } = counter.take('key', now, amount)
        t.ok(isSpent)
        if (seconds > 1) t.ok(counter.take('key', now + seconds * 1000 - 1001, amount).isSpent, 'not before')
        const later = counter.take('key', now + seconds * 1000, amount)
        t.notOk(later.isSpent, `${amount} of ${max} after ${seconds} s`)
      },
    ),
  )
})

t.test('an amount counts completely or not at all', async (t) => {
  const counter = new WindowCounter(100)
  t.strictSame(counter.take('key', START, 60), { isSpent: false, remaining: 40, seconds: 60 })
  t.match(counter.take('key', START, 41), { isSpent: true, remaining: 40 })
  t.strictSame(counter.take('key', START, 40), { isSpent: false, remaining: 0, seconds: 60 })
  counter.giveBack('key', START, 30)
  t.match(counter.take('key', START, 30), { isSpent: false, remaining: 0 })
  t.strictSame(
    counter.take('other', START, 101),
    { isSpent: true, remaining: 100, seconds: 60 },
    'more than there ever is',
  )
})

t.test('refused requests are not counted', async (t) => {
  const counter = new WindowCounter(2)
  t.equal(takeMany(counter, 2, START), 2)
  counter.giveBack('key', START)
  t.equal(takeMany(counter, 2, START), 1)
  counter.giveBack('nobody', START)
  t.equal(counter.take('nobody', START).remaining, 1, 'nobody gets more than there is')
})

t.test('a count is shared from a tenth of the limit on, once', async (t) => {
  const counter = new WindowCounter(100)
  takeMany(counter, 9, START)
  t.same(counter.unsynced(START, 10), [])
  takeMany(counter, 1, START)
  const [unsynced] = counter.unsynced(START, 10)
  t.strictSame(unsynced, { key: 'key', window: START / WINDOW, count: 10 })
  counter.synced(unsynced as NonNullable<typeof unsynced>, 70)
  t.strictSame(counter.unsynced(START, 10), [{ key: 'key', window: START / WINDOW, count: 0 }])
  t.equal(takeMany(counter, 100, START), 30, 'of 100, others had 60')
  t.same(counter.unsynced(START + WINDOW, 10), [], 'a minute that is over is not synced')
})

t.test('what fails leaves nothing behind, here and at other hosts', async (t) => {
  const counter = new WindowCounter(10)
  const reserve = (count: number, now: number) =>
    Array.from({ length: count }, () => counter.reserve('key', now)).filter(({ isSpent }) => !isSpent).length
  t.equal(reserve(12, START), 10, 'while it is not known, each counts')
  t.same(counter.unsynced(START, 10), [], 'other hosts learn of no use that may fail')
  for (let index = 0; index < 8; index += 1) counter.settle('key', START + 1, false)
  for (let index = 0; index < 2; index += 1) counter.settle('key', START + 1, true)
  t.match(counter.unsynced(START + 1, 10), [{ key: 'key', count: 2 }])
  t.equal(counter.take('key', START + 1).remaining, 7)

  t.equal(reserve(7, START + WINDOW - 1), 7)
  for (let index = 0; index < 7; index += 1) counter.settle('key', START + WINDOW, false)
  t.equal(counter.take('key', START + WINDOW).remaining, 6, 'in the next minute too')
  counter.settle('another', START, false)
  t.equal(counter.take('another', START).remaining, 9, 'nor does one that was forgotten meanwhile')
})

t.test('shared counts free memory for other keys', async (t) => {
  const counter = new WindowCounter(1)
  for (const key of ['a', 'b', 'c']) counter.take(key, START)
  const first = counter.unsynced(START, 2)
  t.same(
    first.map(({ key }) => key),
    ['a', 'b'],
  )
  for (const unsynced of first) counter.synced(unsynced, 1)
  t.same(
    counter.unsynced(START, 2).map(({ key }) => key),
    ['c', 'a'],
  )
})

t.test('at most 50,000 keys are remembered, and active ones stay', async (t) => {
  const counter = new WindowCounter(1)
  counter.take('attacker', START)
  for (let index = 0; index < 60_000; index += 1) {
    counter.take(`address ${index}`, START)
    if (index % 10_000 === 0) t.ok(counter.take('attacker', START).isSpent)
  }
  t.ok(counter.take('attacker', START).isSpent)
  t.notOk(counter.take('address 0', START).isSpent, 'forgotten')
})
