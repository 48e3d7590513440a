import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { checkoutRegistry } from './checkout-registry.ts'
import { runApp, runOnTerminal, testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'
import { testOnEngines } from './test-on-engines.ts'

const command = fileURLToPath(new URL('../bin.js', import.meta.url))

t.test('from the link of "app console" to a module that serves, and back', async (t) => {
  const registry = await checkoutRegistry(t, '', () => false)
  const { directory, run } = await testApplication(t)
  process.env.npm_config_registry = registry
  const running = await runningHost(t, directory, { command })
  t.match(await run('console'), { exitCode: 3, json: { error: { code: 'no-console' } } })
  const before = await fetch(`${running.url}/`)
  const known = [...before.headers.keys()].sort()
  t.equal((await run('module-install', 'web-console')).exitCode, 0)

  const { link, subject, scope } = (await run('console', 'ann')).json
  t.match({ subject, scope }, { subject: 'ann', scope: 'admin' })
  const [page, token] = link.split('#link=')
  t.equal(page, `${running.url}/console`)
  let cookie = ''
  const request = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${running.url}/console${path}`, {
      method,
      headers: {
        cookie,
        'x-console': '1',
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  t.match(await request('POST', '/session', { link: token }), { status: 200, body: { canChange: true } })
  const list = await request('GET', '/operator/module-list')
  t.match(list.body, { modules: [{ id: 'web-console', state: 'active' }], url: running.url })
  t.match((await request('GET', '/operator/module-history')).body, { generation: 1 })
  t.match((await request('GET', '/operator/doctor')).body, { findings: [] })
  const { settings } = (await request('GET', '/operator/config')).body
  const idle = settings.find(({ key }: { key: string }) => key === 'web-console.idleMinutes')
  t.match(idle, { value: 30, source: 'default', schema: { type: 'integer', minimum: 1, maximum: 1440 } })

  const change = async (wanted: object) => {
    const planned = await request('POST', '/operator/plan', wanted)
    t.equal(planned.status, 200, JSON.stringify(planned.body))
    const begun = await request('POST', '/operator/change', { plan: planned.body.id })
    for (;;) {
      const state = await request('GET', `/operator/change/${begun.body.change}`)
      if (state.body.state !== 'running') return { plan: planned.body.plan, ...state.body }
      await setTimeout(200)
    }
  }
  const installed = await change({ command: 'module-install', args: ['api-cart'] })
  t.match(installed, {
    plan: { dryRun: true, installed: [{ id: 'api-cart', routes: Array }] },
    ...{ state: 'done', result: { generation: 2, live: true } },
  })
  t.equal(installed.watch, true)
  t.equal((await fetch(`${running.url}/cart`)).status, 200)
  t.match((await request('GET', '/session')).body.modules, ['web-console', 'api-cart'])

  const set = await change({ command: 'config-set', args: ['web-console.idleMinutes', '5'] })
  t.match(set, { state: 'done', result: { value: 5, live: true } })
  t.equal((await fetch(`${running.url}/console/now`)).status, 401)
  t.equal((await request('GET', '/session')).status, 200, 'the session outlives the change')

  const back = await change({ command: 'module-rollback', args: ['1'] })
  t.match(back, { state: 'done', plan: { to: 1 } })
  t.equal((await fetch(`${running.url}/cart`)).status, 404)

  const audit = (await run('audit')).json.records
  t.match(
    audit.filter((one: { action: string }) => one.action === 'console.change'),
    { length: 3 },
  )

  t.equal((await run('module-remove', 'web-console')).exitCode, 0)
  for (const path of ['/console', '/console/session', '/console/asset/x', '/console/api/cart'])
    t.equal((await fetch(`${running.url}${path}`)).status, 404, `${path} after the removal`)
  const after = await fetch(`${running.url}/`)
  t.same([...after.headers.keys()].sort(), known, 'no header stays')
  t.notMatch(await (await fetch(`${running.url}/openapi.json`)).text(), 'console')
})

testOnEngines('what a secret that leaked has proved ends at once', async (t, { directory, run }) => {
  process.env.npm_config_registry = await checkoutRegistry(t, '', () => false)
  await run('module-install', 'web-console', 'api-event')
  const host = await runningHost(t, directory)
  const linkOf = async (...argv: string[]) => (await run('console', ...argv)).json.link.split('#link=')[1]
  const signIn = async (credentials: object) => {
    const response = await fetch(`${host.url}/console/session`, {
      method: 'POST',
      headers: { 'x-console': '1', origin: host.url, 'content-type': 'application/json' },
      body: JSON.stringify(credentials),
    })
    return { status: response.status, cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '' }
  }
  const statusOf = async ({ cookie }: { cookie: string }) =>
    (await fetch(`${host.url}/console/operator/audit`, { headers: { cookie } })).status
  const { token } = (await run('token', 'ann', '--scope', 'admin')).json
  const sessions = [await signIn({ link: await linkOf() }), await signIn({ token })]
  const unused = await linkOf()
  const stream = await fetch(`${host.url}/event`, { headers: { authorization: `Bearer ${token}` } })
  t.equal(stream.status, 200)
  await run('secret', 'rotate')
  t.same(await Promise.all(sessions.map(statusOf)), [200, 200], 'the previous secret verifies still')

  t.match(await run('secret', 'rotate', '--now'), { exitCode: 0 })
  t.same(await Promise.all(sessions.map(statusOf)), [401, 401])
  t.match(await signIn({ link: unused }), { status: 401, cookie: '' })
  await stream.text()
  t.pass('the stream has ended')

  const [one, other] = [await signIn({ link: await linkOf() }), await signIn({ link: await linkOf('ben') })]
  t.same([await statusOf(one), await statusOf(other)], [200, 200])
  t.match(await run('console', '--end-all'), { exitCode: 0, json: { ended: true } })
  t.same([await statusOf(one), await statusOf(other)], [401, 401])
  const { records } = (await run('audit')).json
  t.match(
    records.find(({ action }: { action: string }) => action === 'console.end-all'),
    { details: { caller: /:operator$/, sessions: Number } },
  )
})

t.test('the link is no argument of a process, and names this machine unless publicUrl is set', async (t) => {
  process.env.npm_config_registry = await checkoutRegistry(t, '', () => false)
  const { root, directory, run } = await testApplication(t)
  await run('module-install', 'web-console')
  await runningHost(t, directory)
  t.match(await run('console'), { exitCode: 0, stderr: /on this machine.*publicUrl/ })
  // The browser: it says what it was given, and what it reads there.
  const seen = join(root, 'seen')
  await writeFile(
    join(root, 'xdg-open'),
    `#!/bin/sh\nstat -c '%a %n' "$(dirname "$1")" "$1" > ${seen}.new\ncat "$1" >> ${seen}.new\nenv >> ${seen}.new\nmv ${seen}.new ${seen}\n`,
    { mode: 0o755 },
  )
  t.intercept(process, 'env', {
    value: { ...process.env, PATH: `${root}:${process.env.PATH}`, TMPDIR: root, APP_SECRET: undefined },
  })
  t.match(await runOnTerminal('y', 'console', '--dir', directory), { exitCode: 0 })
  while (!existsSync(seen)) await setTimeout(20)
  const text = await readFile(seen, 'utf8')
  t.match(text, /^700 \S+\n600 \S+console\.html\n/)
  t.match(text, /content="0; url=http:\/\/127\.0\.0\.1:\d+\/console#link=[\w.-]+"/)
  t.notMatch(text, /^APP_/m)
  t.match(await run('config', 'set', 'publicUrl', 'https://shop.example'), { exitCode: 0 })
  const { json, stderr } = await run('console')
  t.match(json.link, /^https:\/\/shop\.example\/console#link=/)
  t.notMatch(stderr, /publicUrl/)
})

t.test('console.md: the commands of the page', async (t) => {
  process.env.npm_config_registry = await checkoutRegistry(t, '', () => false)
  const { directory, run } = await testApplication(t)
  await runningHost(t, directory, { command })
  const page = await readFile(new URL('../../docs/console.md', import.meta.url), 'utf8')
  const lines = Array.from(page.matchAll(/^```sh\n([^`]*)^```$/gm), ([, text = '']) =>
    text.trim().split('\n'),
  ).flat()
  t.equal(lines.length, 3)
  for (const line of lines) {
    const { exitCode, stdout } = await run(...line.split(' ').slice(1))
    t.equal(exitCode, 0, `${line}: ${stdout}`)
  }
})

t.test('the console passes the check of modules', async (t) => {
  const { exitCode, stdout } = await runApp(
    'module-check',
    fileURLToPath(new URL('../../packages/web-console', import.meta.url)),
  )
  t.equal(exitCode, 0, stdout)
})

t.test('without a running host there is nothing to sign in to', async (t) => {
  const { run } = await testApplication(t)
  t.match(await run('console'), { exitCode: 3, json: { error: { code: 'not-running' } } })
})
