import { setImmediate } from 'node:timers/promises'
import { sql } from '@mortise/module-sdk'
import { onEngines, type TestHostOptions } from '@mortise/module-testkit'
import t, { type Test } from 'tap'
import { Browser, consoleHost, later, ofPage, signedIn } from './console-host.ts'

const testOnEngines = onEngines<Test>(t.test)
const digest = 'd'.repeat(64)
const install = { command: 'module-install', args: ['api-purchase'] }

/** A host whose command notes what it was asked, and changes nothing when it plans. */
async function withCommand(t: Test, options: Partial<TestHostOptions> = {}) {
  const argvs: (readonly string[])[] = []
  const changes: (readonly string[])[] = []
  let end = {
    exitCode: 0,
    document: { generation: 2, settled: { state: 'settled' } } as unknown,
    notes: 'plan\n\ndone\n',
  }
  const inputs: (string | undefined)[] = []
  const command = async (
    argv: readonly string[],
    { input }: { readonly input?: string | undefined } = {},
  ) => {
    argvs.push(argv)
    if (argv.includes('--dry-run')) return { exitCode: 0, document: { digest, dryRun: true }, notes: '' }
    if (argv.includes('get'))
      return { exitCode: 0, document: { key: 'note.keepFor', value: '7d' }, notes: '' }
    changes.push(argv)
    inputs.push(input)
    return end
  }
  const host = await consoleHost(t, { command, ...options })
  return {
    host,
    argvs,
    changes,
    inputs,
    ending(result: typeof end) {
      end = result
    },
  }
}

async function ended(browser: Browser, change: string) {
  for (;;) {
    const state = (await browser.get(`/console/operator/change/${change}`)).json()
    if (state.state !== 'running') return state
    // The requests alone never let the event loop go on.
    await setImmediate()
  }
}

testOnEngines('a plan, consent to exactly that plan, and what became of it', async (t) => {
  const { host, argvs, changes } = await withCommand(t)
  const browser = await signedIn(host)
  const planned = await browser.post('/console/operator/plan', { ...install, options: { allowNew: true } })
  t.match(planned.json(), {
    id: /^plan_/,
    command: 'app module-install api-purchase --yes --settle 10 --allow-new',
    plan: { digest },
    expiresAt: /Z$/,
  })
  t.same(
    argvs,
    [['module-install', '--allow-new', '--dry-run', '--', 'api-purchase']],
    'a plan agrees to nothing',
  )
  const begun = await browser.post('/console/operator/change', { plan: planned.json().id })
  t.equal(begun.statusCode, 202)
  const state = await ended(browser, begun.json().change)
  t.match(state, {
    ...{ state: 'done', lines: ['plan', 'done'], result: { generation: 2 }, watch: { state: 'settled' } },
    command: 'app module-install api-purchase --yes --settle 10 --allow-new',
  })
  t.same(changes, [
    ['module-install', '--yes', '--settle=10', '--allow-new', `--plan=${digest}`, '--', 'api-purchase'],
  ])
  const again = await browser.post('/console/operator/change', { plan: planned.json().id })
  t.match(again.json(), { status: 404, code: 'plan-not-found' }, 'consent counts once')
  t.equal(changes.length, 1)
  const [record] = await host.database.many<{ actor: string; action: string; details: string }>(
    sql`SELECT actor, action, details FROM mortise_audit WHERE action = 'console.change'`,
  )
  t.match(record, { actor: 'module:web-console', details: /root/ })
})

const wants: Readonly<Record<string, readonly [object, readonly string[]]>> = {
  remove: [
    { command: 'module-remove', args: ['api-cart'], options: { purge: true } },
    ['module-remove', '--yes', '--purge', `--plan=${digest}`, '--', 'api-cart'],
  ],
  pause: [
    { command: 'module-pause', args: ['api-cart'], options: { for: '10m' } },
    ['module-pause', '--for=10m', `--plan=${digest}`, '--', 'api-cart'],
  ],
  'roll back': [
    { command: 'module-rollback', args: ['3'] },
    ['module-rollback', '--yes', `--plan=${digest}`, '--', '3'],
  ],
  'an argument that looks like an option': [
    { command: 'module-enable', args: ['--dir=/etc'] },
    ['module-enable', '--settle=10', `--plan=${digest}`, '--', '--dir=/etc'],
  ],
  'replay a job': [{ command: 'work-replay', args: ['job_1'] }, ['work', '--', 'replay', 'job_1']],
  repair: [{ command: 'doctor-fix', args: [] }, ['doctor', '--fix', '--']],
}

for (const [name, [wanted, argv]] of Object.entries(wants))
  t.test(`a change: ${name}`, async (t) => {
    const { host, changes } = await withCommand(t)
    const browser = await signedIn(host)
    const { id } = (await browser.post('/console/operator/plan', wanted)).json()
    const { change } = (await browser.post('/console/operator/change', { plan: id })).json()
    t.equal((await ended(browser, change)).state, 'done')
    t.same(changes, [argv])
  })

t.test('the value of a setting is no argument, and is neither shown nor kept', async (t) => {
  const { host, changes, inputs } = await withCommand(t)
  const browser = await signedIn(host)
  const wanted = { command: 'config-set', args: ['note.apiKey', 'hunter2'] }
  const planned = (await browser.post('/console/operator/plan', wanted)).json()
  t.match(planned, { command: 'app config set note.apiKey', plan: { value: '7d' } })
  const { change } = (await browser.post('/console/operator/change', { plan: planned.id })).json()
  await ended(browser, change)
  t.same(changes, [['config', '--', 'set', 'note.apiKey', '-']])
  t.same(inputs, ['hunter2'])
  for (const table of [
    sql`SELECT * FROM console_plan`,
    sql`SELECT * FROM console_change`,
    sql`SELECT * FROM mortise_audit`,
  ])
    t.notMatch(JSON.stringify(await host.database.many(table)), 'hunter2')
})

t.test('a secret is refused before it is stored with a plan', async (t) => {
  const key = 'web-console.oidc'
  const variable = 'APP_MODULES_WEB_CONSOLE_OIDC_CLIENT_SECRET'
  const secret = { key: `${key}.clientSecret`, variable, schema: { writeOnly: true } }
  const documents: Readonly<Record<string, unknown>> = {
    [secret.key]: secret,
    [key]: { settings: [{ key: `${key}.issuer`, variable: 'X', schema: {} }, secret] },
  }
  const host = await consoleHost(t, {
    command: async (argv) => ({ exitCode: 0, document: documents[argv.at(-1) as string], notes: '' }),
  })
  const browser = await signedIn(host)
  const plan = async (...args: string[]) =>
    (await browser.post('/console/operator/plan', { command: 'config-set', args })).json()
  const refused = { status: 400, errors: [{ pointer: '/args/1', detail: new RegExp(variable) }] }
  t.match(await plan(secret.key, 'hunter2'), refused)
  t.match(await plan(key, '{"issuer":"https://a.example","clientSecret":"hunter2"}'), refused)
  t.same(await host.database.many(sql`SELECT * FROM console_plan`), [])
  t.match(await plan(key, '{"issuer":"https://a.example"}'), { command: `app config set ${key}` })
})

t.test('a command that is refused, or whose plan has changed, has failed with its reason', async (t) => {
  const { host, ending } = await withCommand(t)
  const browser = await signedIn(host)
  const error = { code: 'plan-changed', exitCode: 4, message: 'The plan differs.', hint: 'Read it.' }
  ending({ exitCode: 4, document: { error }, notes: 'The plan differs.' })
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  const { change } = (await browser.post('/console/operator/change', { plan: id })).json()
  t.match(await ended(browser, change), { state: 'failed', problem: error, lines: ['The plan differs.'] })
})

t.test('a change whose host ended has an end, too', async (t) => {
  const { host } = await withCommand(t)
  const browser = await signedIn(host)
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  const { change } = (await browser.post('/console/operator/change', { plan: id })).json()
  await ended(browser, change)
  await host.database.transaction(function* () {
    yield { query: sql`UPDATE console_change SET result = NULL`, want: 'nothing' }
  })
  t.equal((await browser.get(`/console/operator/change/${change}`)).json().state, 'running')
  later(t, 12 * 60_000)
  const state = (await browser.get(`/console/operator/change/${change}`)).json()
  t.match(state, { state: 'failed', problem: { code: 'interrupted' } })
  t.match((await browser.get('/console/operator/change/change_0')).json(), { code: 'change-not-found' })
})

t.test('what a command says is shown while it runs', async (t) => {
  const ending = Promise.withResolvers<void>()
  const host = await consoleHost(t, {
    command: async (argv, { onNotes } = {}) => {
      if (argv.includes('--dry-run')) return { exitCode: 0, document: { digest }, notes: '' }
      onNotes?.('the plan\n')
      await ending.promise
      return { exitCode: 0, document: {}, notes: 'the plan\nthe end\n' }
    },
  })
  const browser = await signedIn(host)
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  const { change } = (await browser.post('/console/operator/change', { plan: id })).json()
  const read = async () => (await browser.get(`/console/operator/change/${change}`)).json()
  let state = await read()
  for (; state.lines.length === 0; state = await read()) await setImmediate()
  t.match(state, { state: 'running', lines: ['the plan'] })
  ending.resolve()
  t.match(await ended(browser, change), { state: 'done', lines: ['the plan', 'the end'] })
})

t.test('only commands and options of the list', async (t) => {
  const { host, argvs } = await withCommand(t)
  const browser = await signedIn(host)
  for (const wanted of [
    { command: 'restore', args: ['x'] },
    { command: 'token', args: ['root'] },
    { command: 'toString', args: [] },
    { command: 'module-disable', args: ['a'], options: { purge: true } },
    { command: 'module-install', args: ['a'], options: { dir: '/etc' } },
    { command: 'module-install' },
  ])
    t.match(
      (await browser.post('/console/operator/plan', wanted)).json(),
      { status: 400 },
      JSON.stringify(wanted),
    )
  t.same(argvs, [])
})

/** Nobody of these changes anything: neither by a plan, nor with one of another session. */
async function changesNothing(
  t: Test,
  { host, changes, argvs }: Awaited<ReturnType<typeof withCommand>>,
  browser: Browser,
  refusal: object,
  { plan = 'plan_0', headers = ofPage }: { plan?: string; headers?: Readonly<Record<string, string>> } = {},
) {
  const before = argvs.length
  const planned = await browser.request('POST', '/console/operator/plan', install, headers)
  t.match(planned.json(), refusal, 'no plan')
  const changed = await browser.request('POST', '/console/operator/change', { plan }, headers)
  t.match(changed.json(), refusal, 'no change')
  t.same(changes, [])
  t.equal(argvs.length, before)
  t.same(await host.database.many(sql`SELECT id FROM console_change`), [])
}

const off = { status: 403, code: 'changes-off' }
const elsewhere = { url: 'http://203.0.113.5:3000' }

t.test('without console.changes nothing changes', async (t) => {
  const config = { modules: { 'web-console': { changes: false } } }
  const parts = await withCommand(t, { config })
  const browser = await signedIn(parts.host)
  t.match((await browser.get('/console/session')).json(), {
    ...{ changes: 'off', canChange: false, whyOff: /web-console\.changes is false/ },
  })
  await changesNothing(t, parts, browser, off)
})

t.test('a host that others reach without https changes nothing by itself', async (t) => {
  const parts = await withCommand(t, elsewhere)
  const browser = await signedIn(parts.host)
  t.match((await browser.get('/console/session')).json(), { changes: 'off', whyOff: /loopback/ })
  await changesNothing(t, parts, browser, off)
})

t.test('with https, on loopback, or because the operator says so, changes are on', async (t) => {
  for (const [url, config] of [
    [elsewhere.url, { publicUrl: 'https://shop.example' }],
    [elsewhere.url, { modules: { 'web-console': { changes: true } } }],
    ['http://127.0.0.1:3000', {}],
    ['http://[::1]:3000', {}],
  ] as const) {
    const { host } = await withCommand(t, { url, config })
    const browser = await signedIn(host)
    t.match((await browser.get('/console/session')).json(), { changes: 'on', canChange: true }, url)
  }
  const { host } = await withCommand(t, { url: 'http://127.0.0.1.evil.example', config: {} })
  t.equal((await (await signedIn(host)).get('/console/session')).json().changes, 'off')
})

t.test('a token without admin changes nothing', async (t) => {
  const parts = await withCommand(t)
  const root = await signedIn(parts.host)
  const { id } = (await root.post('/console/operator/plan', install)).json()
  const browser = await signedIn(parts.host, 'bob', 'operator:read purchase:manage')
  t.equal((await browser.get('/console/session')).json().canChange, false)
  await changesNothing(t, parts, browser, { status: 403, code: 'insufficient-scope' }, { plan: id })
})

t.test('another origin changes nothing', async (t) => {
  const parts = await withCommand(t)
  const browser = await signedIn(parts.host)
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  for (const headers of [
    {},
    { 'x-console': '1' },
    { ...ofPage, 'sec-fetch-site': 'cross-site' },
    { 'x-console': '1', origin: 'https://evil.example' },
  ])
    await changesNothing(t, parts, browser, { status: 403, code: 'foreign-request' }, { plan: id, headers })
})

t.test('a stolen cookie changes nothing after the sign-out', async (t) => {
  const parts = await withCommand(t)
  const browser = await signedIn(parts.host)
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  const thief = new Browser(parts.host, browser.cookie)
  await browser.request('DELETE', '/console/session')
  await changesNothing(t, parts, thief, { status: 401, code: 'not-signed-in' }, { plan: id })
})

t.test('a sign-in that is older than five minutes changes nothing', async (t) => {
  const parts = await withCommand(t)
  const browser = await signedIn(parts.host)
  const { id } = (await browser.post('/console/operator/plan', install)).json()
  later(t, 5 * 60_000 + 1000)
  t.equal((await browser.get('/console/session')).statusCode, 200)
  await changesNothing(t, parts, browser, { status: 403, code: 'sign-in-too-old' }, { plan: id })
})

t.test('the plan of another session is nobody else’s, and it ends', async (t) => {
  const parts = await withCommand(t)
  const [ann, eve] = [await signedIn(parts.host, 'ann'), await signedIn(parts.host, 'eve')]
  const { id } = (await ann.post('/console/operator/plan', install)).json()
  const none = { status: 404, code: 'plan-not-found' }
  t.match((await eve.post('/console/operator/change', { plan: id })).json(), none)
  later(t, 10 * 60_000 + 1000)
  const fresh = await signedIn(parts.host, 'ann')
  t.match((await fresh.post('/console/operator/change', { plan: id })).json(), none)
  t.same(parts.changes, [])
})
