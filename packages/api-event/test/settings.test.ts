import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Settings } from '../src/settings.ts'
import { eventHost } from './event-host.ts'

t.test('the schema file is the schema of the code', async (t) => {
  const file = await readFile(new URL('../settings.schema.json', import.meta.url), 'utf8')
  t.same(JSON.parse(file), JSON.parse(JSON.stringify(Settings)))
})

t.test('a setting that is wrong stops the host, by its name', async (t) => {
  const config = { modules: { 'api-event': { heartbeatSeconds: 0 } } }
  await t.rejects(eventHost(t, { config }), /heartbeatSeconds/)
})
