import t from 'tap'
import { summarize } from '../src/ratios.ts'

t.test('the median of an odd number of rounds is the middle one, whatever their order', async (t) => {
  t.same(summarize([3, 1, 10]), { median: 3, least: 1, most: 10 })
})

t.test('the median of an even number of rounds is between the two in the middle', async (t) => {
  t.same(summarize([4, 1, 2, 10]), { median: 3, least: 1, most: 10 })
})

t.test('zero rounds have no summary', async (t) => {
  t.throws(() => summarize([]), RangeError)
})
