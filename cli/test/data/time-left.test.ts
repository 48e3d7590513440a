import t from 'tap'
import { TimeLeft } from '../../src/data/time-left.ts'

t.test('what is left takes as long as what is done, row by row', async (t) => {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  let time = 0
  performance.now = () => time
  const left = new TimeLeft(1_000)
  t.equal(left.seconds, undefined, 'nothing is known yet')
  time = 4_000
  left.add(100)
  t.equal(left.seconds, 36)
  time = 8_100
  left.add(300)
  t.equal(left.seconds, 13)
  left.add(600)
  t.equal(left.seconds, 1, 'indexes and references may take a while')
  left.add(50)
  t.equal(left.seconds, 1, 'more than was counted')
})
