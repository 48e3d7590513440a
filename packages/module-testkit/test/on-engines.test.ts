import t, { type Test, test } from 'tap'
import { createTestHost, onEngines, type TestEngine } from '../src/index.ts'

const ran: TestEngine[] = []

onEngines<Test>(test)('the hosts of a test are on its engine', async (t, engine) => {
  ran.push(engine)
  for (const _host of [1, 2]) {
    const { database } = await createTestHost(t, { modules: [] })
    t.equal(database.engine, engine)
  }
})

t.test('PostgreSQL is one of them where a server is named', async (t) => {
  t.strictSame(ran, process.env.APP_TEST_DATABASE_URL ? ['sqlite', 'postgres'] : ['sqlite'])
})

t.test('the test kit accepts `after` and `teardown`', async (t) => {
  const cleanUps: (() => Promise<void>)[] = []
  const { app } = await createTestHost({ after: (cleanUp) => cleanUps.push(cleanUp) }, { modules: [] })
  t.equal((await app.inject('/health/live')).statusCode, 200)
  t.equal(cleanUps.length, 1)
  for (const cleanUp of cleanUps) await cleanUp()
  await t.rejects(app.inject('/health/live'))
})
