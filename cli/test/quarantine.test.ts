import { once } from 'node:events'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type LockedModule, readLockFile, storedModule } from '@mortise/application'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { started, until } from './late-modules.ts'
import { copiesOf, runApp, type TestApplication } from './run-app.ts'
import { get, runningHost } from './running-host.ts'
import { skipPostgres, usePostgres } from './test-on-engines.ts'

process.env.APP_HOST_BLOCKED_SECONDS = '1'
/** In the host alone: the probe has an empty environment. */
process.env.MORTISE_TEST_LOOP = '1'

const route = `app.get('/hello', { config: { access: 'public' } }, async (request) => {
  if (request.headers.block) for (;;);
  return { version: '1.0.0' }
})`

const copies = copiesOf(async ({ root, run }) => {
  await sampleTarball(join(root, 'hello-2.tgz'), { version: '2.0.0' })
  await sampleTarball(join(root, 'loads.tgz'), {
    id: 'loads',
    plugin:
      "if (process.env.MORTISE_TEST_LOOP) for (;;);\napp.get('/loads', { config: { access: 'public' } }, async () => ({}))",
  })
  for (const [id, plugin] of [
    ['hello', route],
    ['other', undefined],
  ] as const) {
    const file = await sampleTarball(join(root, `${id}.tgz`), { id, ...(plugin && { plugin }) })
    const { exitCode, stdout } = await run('module-install', '--yes', file)
    if (exitCode !== 0) throw new Error(stdout)
  }
})

/** A host that starts again by itself, and what a caller gets from it. */
async function running(t: Test, application: TestApplication) {
  const host = await started(t, application, [], [])
  const get = async (path: string, headers = {}) => {
    const response = await fetch(`${host.url}${path}`, { headers: { connection: 'close', ...headers } })
    // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
    return { status: response.status, body: (await response.json()) as any }
  }
  const block = async () => {
    await get('/hello', { block: '1' }).catch(() => {})
    await until(async () => (await get('/other').catch(() => undefined))?.status === 200)
  }
  return { host, get, block }
}

t.test('a module that ended the host twice is in quarantine, until it is enabled', async (t) => {
  const application = await copies(t)
  const { root, run } = application
  const { host, get, block } = await running(t, application)
  await block()
  t.match(await get('/hello'), { status: 200 }, 'once may be chance')
  await block()
  const reason =
    /^it has ended the host 2 times in 10 minutes, last: hello has blocked the event loop for \d s, at index\.js:\d+$/
  const detail = /^The host has paused hello, since it has ended .* app module-enable hello$/
  t.match(await get('/hello'), { status: 503, body: { code: 'module-quarantined', detail } })
  t.match(await get('/health/ready'), { status: 200, body: { status: 'ok', quarantined: ['hello'] } })
  const list = await run('module-list')
  t.match(list.json.modules, [{ id: 'hello', state: 'quarantined', reason }, { state: 'active' }])
  t.match((await run('module-info', 'hello')).json, { state: 'quarantined', reason })
  t.match((await run('doctor')).json.findings, [{ id: 'module-quarantined', severity: 'error' }])
  t.match((await run('audit')).json.records[0], {
    actor: 'host',
    action: 'module-quarantine',
    object: 'hello',
    details: { reason },
  })
  t.match((await run('module-history')).json.quarantined, [{ id: 'hello', reason }])
  const metrics = await (await fetch(`${host.url}/metrics`)).text()
  t.match(metrics, /^mortise_quarantined_modules 1$/m)
  t.match(metrics, /^mortise_module_up\{module="hello",version="1\.0\.0"\} 0$/m)

  host.child.kill('SIGTERM')
  t.equal(await host.ended, 0)
  t.match((await run('module-list')).json.modules, [{ id: 'hello', state: 'quarantined', reason }, {}])
  const next = await running(t, application)
  t.match(await next.get('/hello'), { status: 503 }, 'a restart changes nothing')
  t.match(await run('module-enable', 'hello'), { exitCode: 0, json: { released: ['hello'] } })
  t.match(await next.get('/hello'), { status: 200 })
  t.match(await next.get('/health/ready'), { body: { quarantined: undefined } })
  await next.block()
  t.match(await next.get('/hello'), { status: 200 }, 'earlier ends count no longer')
  await next.block()
  t.match(await next.get('/hello'), { status: 503 })
  t.match(await run('module-install', '--yes', join(root, 'hello-2.tgz')), { exitCode: 0 })
  t.match(await next.get('/hello'), { status: 200, body: { version: '2.0.0' } })
})

t.test('a module that loops while it loads is in quarantine', async (t) => {
  const application = await copies(t)
  const { root, run } = application
  t.match(await run('module-install', '--yes', join(root, 'loads.tgz')), { exitCode: 0 })
  const { get } = await running(t, application)
  t.match(await get('/loads'), { status: 503, body: { code: 'module-quarantined' } })
  t.match(await get('/other'), { status: 200 })
})

/** Notes two ends of a host by the module, as the thread that ends it does. */
async function noteEnds(directory: string, id: string): Promise<void> {
  const locked = (await readLockFile(directory)).modules[id]
  const folder = basename(storedModule(directory, locked as LockedModule))
  await mkdir(join(directory, '.app', 'ends'))
  for (const at of [Date.now() - 1000, Date.now()])
    await writeFile(
      join(directory, '.app', 'ends', `${at}-1.json`),
      JSON.stringify({ module: id, folder, reason: `${id} has blocked`, at }),
    )
}

t.test('a webhook hears of the quarantine', async (t) => {
  const { directory, run } = await copies(t)
  t.match(await run('module-install', 'api-event'), { exitCode: 0 })
  const settings = { webhookPlainHttp: true, webhookNetworks: ['127.0.0.0/8'] }
  for (const [name, value] of Object.entries(settings))
    t.match(await run('config', 'set', `modules.api-event.${name}`, JSON.stringify(value)), { exitCode: 0 })
  const { token } = (await run('token', 'operator', '--scope', 'event:read')).json
  const heard = Promise.withResolvers<string>()
  const receiver = createServer(async (request, response) => {
    const body = await text(request)
    if (body.includes('module-quarantined')) heard.resolve(body)
    response.end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => receiver.close())
  await once(receiver, 'listening')
  const first = await runningHost(t, directory)
  const response = await fetch(`${first.url}/webhook`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      types: ['host.module-quarantined'],
      everyone: true,
    }),
  })
  t.equal(response.status, 201, await response.text())
  await first.close()
  await noteEnds(directory, 'hello')
  await runningHost(t, directory)
  t.match(JSON.parse(await heard.promise), {
    type: 'host.module-quarantined',
    subject: 'hello',
    data: {
      module: 'hello',
      reason: /^it has ended the host 2 times in 10 minutes, last: hello has blocked$/,
    },
  })
})

t.test('hosts of one database share the quarantine', { skip: skipPostgres }, async (t) => {
  const one = await copies(t)
  await usePostgres(t, one.directory)
  const directory = join(one.root, 'copy')
  t.match(await one.run('module-install'), { exitCode: 0 })
  await cp(one.directory, directory, { recursive: true, verbatimSymlinks: true })
  const two = await runningHost(t, directory)
  t.match(await get(two, '/hello'), { status: 200 })

  await two.notifyHosts()
  const begun = performance.now()
  await noteEnds(one.directory, 'hello')
  const first = await runningHost(t, one.directory)
  t.match(await get(first, '/hello'), { status: 503, body: { code: 'module-quarantined' } })
  // As a host of the same folder does.
  const file = join('.app', 'quarantine')
  await cp(join(one.directory, file), join(directory, file))
  await until(async () => (await get(two, '/hello')).status === 503)
  t.ok(performance.now() - begun < 9_000, 'before its next heartbeat')
  t.match(await get(two, '/other'), { status: 200 })
  const outcome = await runApp('module-enable', 'hello', '--dir', directory, '--json')
  t.match(outcome, { exitCode: 0, json: { released: ['hello'] } })
  t.match(await get(two, '/hello'), { status: 200 })
  await until(async () => (await get(first, '/hello')).status === 200)
})
