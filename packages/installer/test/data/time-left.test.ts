import t from 'tap'
import { TimeLeft } from '../../src/data/time-left.ts'

t.test('what is left takes as long as what is done, row by row', async (t) => {
  const { now } = performance
  t.teardown(() => Object.assign(performance, { now }))
  let time = 0
  performance.now = () => time
  const left = new TimeLeft(1_000)
  t.equal(left.seconds, undefined, 'nothing is known yet')
  time = 3_000
  left.add(9)
  t.equal(left.seconds, undefined, 'small tables say nothing')
  left.add(91)
  t.equal(left.seconds, undefined, 'what came before is not measured')
  time = 7_000
  left.add(100)
  t.equal(left.seconds, 32)
  time = 15_100
  left.add(200)
  t.equal(left.seconds, 25)
  left.add(600)
  t.equal(left.seconds, 1, 'indexes and references may take a while')
  left.add(50)
  t.equal(left.seconds, 1, 'more than was counted')
})
