import t from 'tap'
import { openStorage } from '../../src/open-storage.ts'
import { temporarySchema } from '../engines.ts'
import { startProxy } from './proxy.ts'

const HOSTS = 3
const STARTS = 10
/** Each way, in milliseconds. */
const DELAY = 25

const skip = process.env.APP_TEST_DATABASE_URL === undefined && 'APP_TEST_DATABASE_URL names no PostgreSQL'

t.test('hosts that start at the same moment make one schema between them', { skip }, async (t) => {
  const folder = t.testdir({ '001-note.sql': 'CREATE TABLE note (id TEXT PRIMARY KEY);' })
  const note = { module: 'note', directory: folder, tables: 'note' }
  const start = async (url: string) => {
    const storage = await openStorage({ url, onFatal: t.fail })
    t.teardown(() => storage.close())
    return (await storage.migrate([note])).length
  }
  for (let number = 0; number < STARTS; number++) {
    const { url } = await temporarySchema(t)
    const proxy = await startProxy(t, url)
    proxy.delay(DELAY)
    const applied = await Promise.all(Array.from({ length: HOSTS }, () => start(proxy.url)))
    t.strictSame(applied.toSorted(), [0, 0, 1])
  }
})
