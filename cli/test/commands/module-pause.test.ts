import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { copiesOf, runApp } from '../run-app.ts'
import { get, runningHost } from '../running-host.ts'
import { testOnEngines } from '../test-on-engines.ts'

const withHello = copiesOf(async ({ root, run }) =>
  run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz'))),
)

t.test('every command shows a pause, and enabling the module ends it', async (t) => {
  const { directory, run } = await withHello(t)
  const running = await runningHost(t, directory)
  const paused = await run('module-pause', '@acme/hello', '--for', '10m')
  t.match(paused, { exitCode: 0, json: { generation: 2, changed: ['hello'], unchanged: [], live: true } })
  const { until } = paused.json
  const minutes = (Date.parse(until) - Date.now()) / 60_000
  t.ok(minutes > 9 && minutes <= 10, `${until} is in ten minutes`)

  t.match(await get(running, '/hello'), { status: 503, body: { code: 'module-paused' } })
  t.match((await get(running, '/')).body.modules, [{ id: 'hello', state: 'paused' }])
  t.match((await run('module-list')).json.modules, [{ id: 'hello', state: 'paused', until, reason: null }])
  t.match((await run('module-info', 'hello')).json, { installed: true, state: 'paused', until })
  t.match(await run('doctor'), {
    exitCode: 0,
    json: { findings: [{ id: 'module-paused', severity: 'info', message: new RegExp(until) }] },
  })
  t.match((await run('module-history')).json.generations.at(-1), {
    command: 'module-pause @acme/hello --for 10m',
    changes: [`~ hello paused until ${until}`],
  })
  t.match((await run('audit')).json.records[0], { action: 'module-pause', object: 'hello', outcome: 'done' })
  const said = async (...argv: string[]) => (await runApp(...argv, '--dir', directory)).stdout
  t.match(await said('list'), new RegExp(`hello +1.0.0 +paused +1 route +until ${until}`))
  t.match(await said('info', 'hello'), new RegExp(`Installed, paused until ${until}`))

  t.match(await run('module-enable', 'hello'), { exitCode: 0, json: { changed: ['hello'], live: true } })
  t.match(await get(running, '/hello'), { status: 200 })
  t.match((await run('module-list')).json.modules, [{ state: 'active', until: null }])
  t.match((await run('module-history')).json.generations.at(-1), { changes: ['~ hello enabled'] })
})

t.test('a pause without a time can be repeated, warned of, limited and rolled back', async (t) => {
  const { directory, run } = await withHello(t)
  const running = await runningHost(t, directory)
  t.match(await run('pause', 'hello'), { exitCode: 0, json: { changed: ['hello'], until: null } })
  t.match(await run('pause', 'hello'), {
    exitCode: 0,
    json: { changed: [], unchanged: ['hello'], live: true },
  })
  t.match(await run('doctor'), {
    exitCode: 1,
    json: { findings: [{ id: 'module-paused', severity: 'warning' }] },
  })
  t.match(await run('pause', 'hello', '--for', '1h'), { json: { changed: ['hello'], until: String } })
  t.match(await run('module-rollback'), { exitCode: 0, json: { live: true } })
  t.match((await run('list')).json.modules, [{ state: 'paused', until: null }])
  t.match(await run('module-rollback', '1'), { exitCode: 0, json: { live: true } })
  t.match(await get(running, '/hello'), { status: 200 })
})

t.test('a paused module stays paused in an upgrade, and can be disabled', async (t) => {
  const { root, directory, run } = await withHello(t)
  const running = await runningHost(t, directory)
  await run('module-pause', 'hello')
  const next = await sampleTarball(join(root, 'next.tgz'), { version: '1.0.1' })
  t.match(await run('module-install', '--yes', next), {
    exitCode: 0,
    json: { paused: ['hello'], disabled: [] },
  })
  t.match((await run('list')).json.modules, [{ version: '1.0.1', state: 'paused' }])
  t.match(await get(running, '/hello'), { status: 503, body: { code: 'module-paused' } })
  t.match(await run('module-disable', 'hello'), { exitCode: 0, json: { changed: ['hello'], live: true } })
  t.equal((await get(running, '/hello')).status, 404)
  t.match(await run('module-pause', 'hello'), { exitCode: 4, json: { error: { code: 'module-disabled' } } })
  t.match(await run('module-enable', 'hello'), { exitCode: 0 })
  t.match(await get(running, '/hello'), { status: 200, body: { version: '1.0.1' } })
})

t.test('without a host the pause begins at its start; its time runs', async (t) => {
  const { directory, run } = await withHello(t)
  t.match(await run('module-pause', 'hello', '--for', '1s'), { exitCode: 0, json: { live: false } })
  t.match(await run('module-pause', 'hello', '--for', '10m'), { exitCode: 0, json: { live: false } })
  t.match((await run('list')).json, { url: null, modules: [{ state: 'paused', until: String }] })
  t.match(await run('doctor'), { json: { findings: [{ id: 'module-paused' }] } })
  t.match(await get(await runningHost(t, directory), '/hello'), { status: 503 })
})

t.test('what cannot be paused is named', async (t) => {
  const { run } = await withHello(t)
  t.match(await run('module-pause', 'helo'), {
    exitCode: 3,
    json: { error: { code: 'not-installed', hint: /Did you mean hello/ } },
  })
  for (const time of ['0m', '10', 'soon', '-1m', '2y', '999999w']) {
    t.match(await run('module-pause', 'hello', `--for=${time}`), {
      exitCode: 2,
      json: { error: { code: 'usage', message: new RegExp(`"${time}" is not a time`) } },
    })
  }
})

testOnEngines(
  'purchases take from a paused cart, and a guest is claimed into it',
  async (t, { directory, run }) => {
    await run('module-install', 'api-cart', 'api-purchase')
    const { url } = await runningHost(t, directory)
    const { token } = (await run('token', 'ann')).json
    const send = async (path: string, body: object, headers: object) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
      return { status: response.status, headers: response.headers, body: (await response.json()) as any }
    }
    const ann = { authorization: `Bearer ${token}` }
    const { headers } = await send('/cart/item', { product: 'tea', quantity: 2 }, {})
    const guest = headers.get('guest-token') as string

    t.match(await run('module-pause', 'api-cart'), { exitCode: 0 })
    t.match(await send('/cart/item', { product: 'tea', quantity: 1 }, ann), { status: 503 })
    t.match(await send('/guest/claim', {}, { ...ann, 'guest-token': guest }), { status: 200 })
    const purchase = { items: [{ product: 'tea', quantity: 1 }], takeFromCart: true }
    t.match(await send('/purchase', purchase, ann), { status: 201 })
    t.match(await run('module-enable', 'api-cart'), { exitCode: 0 })
    t.match(await (await fetch(`${url}/cart`, { headers: ann })).json(), { totalQuantity: 1 })
  },
)
