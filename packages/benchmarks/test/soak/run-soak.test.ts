import t from 'tap'
import { runSoak } from '../../src/soak/run-soak.ts'

// A slice of `npm run soak:switch`, long enough for a step of every kind.
t.test('no request fails and no write is lost while the host is changed', async (t) => {
  const { failures, outcomes, requests, writes, samples } = await runSoak({ steps: 8, clients: 8, seed: 1 })
  t.same(failures, [])
  for (const outcome of ['done', 'refused', 'taken back', 'killed', 'two at once'])
    t.ok(outcomes[outcome], outcome)
  t.ok(requests > 500, `${requests} requests`)
  t.ok(writes > 50, `${writes} writes`)
  t.match(samples, [{ step: 8, instances: 2 }])
})
