import t from 'tap'
import { counter, gauge, mergeFamilies, toText } from '../../src/telemetry/prometheus-format.ts'

t.test('is written as Prometheus reads it', async (t) => {
  const labels = { path: 'a\\b', quote: 'say "x"', line: '1\n2' }
  t.equal(
    toText([counter('asked_total', 'Asked', 3), gauge('up', 'Serves', 'min', [{ labels, value: 1 }])]),
    [
      '# HELP asked_total Asked',
      '# TYPE asked_total counter',
      'asked_total 3',
      '# HELP up Serves',
      '# TYPE up gauge',
      'up{path="a\\\\b",quote="say \\"x\\"",line="1\\n2"} 1',
      '',
    ].join('\n'),
  )
})

t.test('samples of several processes with the same labels are merged', async (t) => {
  const up = (module: string, value: number) => ({ labels: { module }, value })
  const one = [counter('asked_total', '', 3), gauge('up', '', 'min', [up('cart', 1), up('note', 1)])]
  const other = [counter('asked_total', '', 4), gauge('up', '', 'min', [up('note', 0)])]
  const third = [gauge('lag', '', 'max', 2), gauge('waiting', '', 'sum', 5)]
  t.strictSame(mergeFamilies([one, other, third]), [
    counter('asked_total', '', 7),
    gauge('up', '', 'min', [up('cart', 1), up('note', 0)]),
    gauge('lag', '', 'max', 2),
    gauge('waiting', '', 'sum', 5),
  ])
})
