import t from 'tap'
import { MonotonicClock } from '../../src/port/monotonic-clock.ts'

const DAY = 86_400_000

t.test('a clock that is set back holds until its source catches up', async (t) => {
  let time = 5 * DAY
  const held: number[] = []
  const clock = new MonotonicClock(
    () => time,
    0,
    (at) => held.push(at),
  )
  t.equal(clock.now(), 5 * DAY)
  time -= 3_600_000
  t.equal(clock.now(), 5 * DAY)
  time += 3_599_999
  t.equal(clock.now(), 5 * DAY)
  t.strictSame(held, [5 * DAY], 'reported once')
  time += 2.5
  t.equal(clock.now(), 5 * DAY + 1)
})

t.test('it begins with the newest known time, unless that was wrong by more than a day', async (t) => {
  t.equal(new MonotonicClock(() => 5 * DAY, 5.5 * DAY).now(), 5.5 * DAY)
  t.equal(new MonotonicClock(() => 5 * DAY, 6.5 * DAY).now(), 5 * DAY)
})
