import t from 'tap'
import { traceIdIn } from '../../src/telemetry/observe-requests.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'

t.test('a valid traceparent sets the trace', async (t) => {
  t.equal(traceIdIn(`00-${trace}-${parent}-01`), trace)
  t.equal(traceIdIn(`00-${trace}-${parent}-00`), trace)
  t.equal(traceIdIn(`cc-${trace}-${parent}-01-of a later version`), trace)
})

for (const [what, header] of Object.entries({
  'no header': undefined,
  'an empty one': '',
  'a trace of zeros': `00-${'0'.repeat(32)}-${parent}-01`,
  'a parent of zeros': `00-${trace}-${'0'.repeat(16)}-01`,
  'upper case': `00-${trace.toUpperCase()}-${parent}-01`,
  'a version that does not exist': `ff-${trace}-${parent}-01`,
  'more than its version has': `00-${trace}-${parent}-01-more`,
  'one that was sent twice': `00-${trace}-${parent}-01, 00-${trace}-${parent}-01`,
})) {
  t.equal(traceIdIn(header), undefined, what)
}
