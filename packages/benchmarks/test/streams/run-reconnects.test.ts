import t from 'tap'
import { runReconnects } from '../../src/streams/run-reconnects.ts'

// A slice of `npm run streams`, of another seed each time: a failure names it.
t.test('who comes back to a stream misses nothing, and gets nothing twice', async (t) => {
  const seed = Date.now() % 1_000_000
  const { failures, reconnects, events } = await runReconnects({ reconnects: 4, seed })
  t.same(failures, [], `with seed ${seed}`)
  t.ok(reconnects >= 4, 'clients came back')
  t.ok(events > 4)
})
