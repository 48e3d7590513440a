import t from 'tap'
import { createApp } from '../http/create-app.ts'

t.test('health/live is always 200, health/ready only if nothing blocks', async (t) => {
  let reason: string | undefined = 'The database is being migrated.'
  const app = await createApp(t, { notReady: () => reason })
  t.equal((await app.inject('/health/live')).statusCode, 200)
  const refused = await app.inject('/health/ready')
  t.equal(refused.statusCode, 503)
  t.match(refused.json(), { code: 'not-ready', detail: reason })
  reason = undefined
  const ready = await app.inject('/health/ready')
  t.equal(ready.statusCode, 200)
  t.strictSame(ready.json(), { status: 'ok' })
  t.equal(ready.headers['cache-control'], 'no-store')
})
