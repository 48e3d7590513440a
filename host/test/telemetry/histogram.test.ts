import t from 'tap'
import { Histogram } from '../../src/telemetry/metrics.ts'

t.test('each bucket has what the smaller ones have too; a bound belongs to its bucket', async (t) => {
  const histogram = new Histogram([1, 2.5])
  for (const value of [0.5, 1, 2, 2.5, 7]) histogram.observe(value)
  const bucket = (le: string, value: number) => ({ suffix: '_bucket', labels: { route: '/', le }, value })
  t.strictSame(histogram.samples({ route: '/' }), [
    bucket('1', 2),
    bucket('2.5', 4),
    bucket('+Inf', 5),
    { suffix: '_sum', labels: { route: '/' }, value: 13 },
    { suffix: '_count', labels: { route: '/' }, value: 5 },
  ])
})
