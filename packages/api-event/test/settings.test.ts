import t from 'tap'
import { eventHost } from './event-host.ts'

t.test('a setting that is wrong stops the host, by its name', async (t) => {
  const config = { modules: { 'api-event': { heartbeatSeconds: 0 } } }
  await t.rejects(eventHost(t, { config }), /heartbeatSeconds/)
})
