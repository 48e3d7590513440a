import { onEngines } from '@mortise/module-testkit'
import t, { type Test } from 'tap'
import { consoleHost, moduleIn, signedIn } from './console-host.ts'

const printed = (document: unknown, exitCode = 0) => ({ exitCode, document, notes: '' })

t.test('what commands print is below /console/operator, for a session that may look', async (t) => {
  const calls: (readonly string[])[] = []
  const command = async (argv: readonly string[]) => {
    calls.push(argv)
    return printed({ modules: [] })
  }
  const host = await consoleHost(t, { command })
  const browser = await signedIn(host, 'bob', 'operator:read')
  for (const [path, argv] of [
    ['module-list', ['module-list', '--']],
    ['module-list?outdated=true', ['module-list', '--outdated', '--']],
    ['module-list?usage=true', ['module-list', '--usage', '--']],
    ['module-history', ['module-history', '--']],
    ['module-info/@acme/review', ['module-info', '--', '@acme/review']],
    ['search?words=cart+--dir', ['search', '--', 'cart', '--dir']],
    ['config', ['config', '--', 'get']],
    ['doctor', ['doctor', '--quick', '--']],
    ['doctor?whole=true', ['doctor', '--']],
  ] as const) {
    const response = await browser.get(`/console/operator/${path}`)
    t.match([response.statusCode, response.json(), calls.at(-1)], [200, { modules: [] }, argv], path)
    t.equal(response.headers['cache-control'], 'no-store')
  }
  t.match((await browser.get('/console/operator/host')).json(), { modules: [{ id: 'web-console' }] })
})

onEngines<Test>(t.test)('the audit trail, jobs and event handlers are read without a process', async (t) => {
  const host = await consoleHost(t, {
    modules: [moduleIn('api-purchase')],
    command: async () => t.fail('a command runs') as never,
  })
  const items = [{ product: 'tea', quantity: 1 }]
  const [first, other] = [
    (await host.user('ann').post('/purchase', { items })).json(),
    (await host.user('ann').post('/purchase', { items })).json(),
  ]
  const root = host.user('root', 'admin')
  for (const { id } of [first, other]) await root.patch(`/purchase/${id}`, { status: 'confirmed' })
  await root.patch(`/purchase/${first.id}`, { status: 'completed' })
  const browser = await signedIn(host, 'bob', 'operator:read')
  const read = async (path: string) => (await browser.get(`/console/operator/${path}`)).json()
  const actions = (document: { records: { action: string }[] }) =>
    document.records.map(({ action }) => action)
  const ofFirst = await read(`audit?object=${first.id}`)
  t.same(actions(ofFirst), ['purchase.completed', 'purchase.confirmed'])
  t.match(ofFirst.records[0].actor, /:root$/)
  const older = await read(`audit?object=${first.id}&limit=5&before=${ofFirst.records[0].seq}`)
  t.same(actions(older), ['purchase.confirmed'])
  t.equal((await read('audit?limit=2')).records.length, 2)
  t.same(await read('audit?object=nothing'), { records: [] })
  t.same(await read('work'), { works: [], failed: [] })
  t.match(await read('events?limit=1'), { subscriptions: [], failed: [] })
})

t.test('no other command can be read, and no file of the machine', async (t) => {
  let runs = 0
  const host = await consoleHost(t, {
    command: async () => {
      runs += 1
      return printed({})
    },
  })
  const browser = await signedIn(host, 'bob', 'operator:read')
  for (const path of ['module-install', 'token', 'module-list/x', 'backup', ''])
    t.match((await browser.get(`/console/operator/${path}`)).json(), { status: 404 }, path)
  for (const name of ['/etc', '..%2Fsecret', 'file:x', '.x'])
    t.match((await browser.get(`/console/operator/module-info/${name}`)).json(), { status: 400 }, name)
  t.equal((await browser.get('/console/operator/search?words=+')).statusCode, 400)
  t.equal(runs, 0)
})

t.test('a command that fails says why; one with findings has its document', async (t) => {
  const error = { code: 'no-such-module', exitCode: 3, message: 'There is no x.', hint: 'Look for it.' }
  const results = [
    printed({ error }, 3),
    printed({ findings: [1] }, 1),
    { ...printed(undefined, 1), notes: 'broken' },
  ]
  const host = await consoleHost(t, { command: async () => results.shift() ?? printed({}) })
  const browser = await signedIn(host)
  const failed = await browser.get('/console/operator/module-info/x')
  t.match(failed.json(), {
    ...{ status: 409, code: 'command-failed', detail: 'There is no x. Look for it.' },
    command: { code: 'no-such-module', exitCode: 3 },
  })
  t.same((await browser.get('/console/operator/doctor')).json(), { findings: [1] })
  t.match((await browser.get('/console/operator/module-list')).json(), { status: 409, detail: 'broken' })
})

t.test('a crowd does not queue without end', async (t) => {
  const ending = Promise.withResolvers<void>()
  const host = await consoleHost(t, {
    command: async () => {
      await ending.promise
      return printed({})
    },
  })
  const browser = await signedIn(host)
  const all = Array.from({ length: 25 }, (_, index) => browser.get(`/console/operator/module-info/a${index}`))
  const refused = await Promise.race(all.toReversed())
  t.match(refused.json(), { status: 503, code: 'commands-busy' })
  ending.resolve()
  const statuses = (await Promise.all(all)).map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 200).length, 22)
})

t.test('the same question at the same time is one process, and few run beside each other', async (t) => {
  let [running, most, runs] = [0, 0, 0]
  const host = await consoleHost(t, {
    command: async () => {
      running += 1
      runs += 1
      most = Math.max(most, running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      return printed({})
    },
  })
  const browser = await signedIn(host)
  const paths = ['doctor', 'doctor', 'module-list', 'search?words=x', 'module-history', 'config']
  const all = await Promise.all(paths.map((path) => browser.get(`/console/operator/${path}`)))
  t.ok(all.every(({ statusCode }) => statusCode === 200))
  t.equal(runs, 5)
  t.equal(most, 2)
})
