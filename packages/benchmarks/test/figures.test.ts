import { readFileSync } from 'node:fs'
import t from 'tap'
import { chartFile, drawChart, tables, withTable } from '../src/figures.ts'

t.test('the chart is that of the recorded runs', async (t) => {
  const chart = readFileSync(chartFile, 'utf8')
  t.equal(chart, drawChart(), 'run the benchmark with --record')
  t.match(chart, /<rect x="400" .*\n<text .*>\d+\.\d\d</)
})

for (const [file, table] of tables) {
  t.test(`${table.name}: a README has that of the recorded runs`, async (t) => {
    const text = readFileSync(file, 'utf8')
    t.equal(text, withTable(text, table()), 'run the benchmark with --record')
    t.match(text, /^\| SQLite \| `POST \/purchase`, JWT \| bare \| \d/m)
  })
}
