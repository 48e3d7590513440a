import t from 'tap'
import { runChaos } from './run-chaos.ts'

// A slice of `npm run postgres-chaos`: a round of each kind, and the first again after a promotion.
t.test('no acknowledged write is lost, whatever happens to PostgreSQL', async (t) => {
  const seed = Date.now() % 1_000_000
  const { failures, acknowledged, refused, recovery } = await runChaos({ rounds: 3, clients: 8, seed })
  t.strictSame(failures, [], `seed ${seed}`)
  t.ok(acknowledged > 50, `${acknowledged} acknowledged`)
  t.ok(refused > 0, `${refused} refused`)
  t.match([recovery.restart.length, recovery.promote.length], [2, 1])
})
