import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  install,
  oneRoute,
  uninstall,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { mintApplicationToken } from '../../src/callers/mint-token.ts'
import { callRunningHost } from '../../src/control/call-running-host.ts'
import { testOnPostgres } from '../engines.ts'

async function running(t: Test, config: object = {}, ...modules: Parameters<typeof install>[2][]) {
  const directory = await applicationFolder(t, config)
  await install(t, directory, ...modules)
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(application.url + path, init)
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: await response.text(),
    }
  }
  /** The figure of a name with its labels, as they are written. */
  const figure = async (name: string) => {
    const line = (await ask('/metrics')).body.split('\n').find((line) => line.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length))
  }
  return { directory, application, ask, figure }
}

const requests = (labels: string) => `mortise_request_duration_seconds_count{${labels}}`

t.test('requests are counted by route, whatever paths callers ask for', async (t) => {
  const { ask, figure } = await running(t, {}, oneRoute('note', 'yes'))
  await ask('/note')
  await ask('/note', { method: 'HEAD' })
  for (const path of ['/a', '/b', '/c"\n']) await ask(path)
  await ask('/note', { method: 'DELETE' })
  t.equal(await figure(requests('method="GET",route="/note",module="note",status="2xx"')), 1)
  t.equal(await figure(requests('method="HEAD",route="/note",module="note",status="2xx"')), 1)
  t.equal(await figure(requests('method="GET",route="unknown",module="host",status="4xx"')), 3)
  t.equal(await figure(requests('method="DELETE",route="unknown",module="host",status="4xx"')), 1)
  t.match(await ask('/metrics'), { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
})

t.test('metrics continue over generations', async (t) => {
  const { ask, figure, directory } = await running(t, {}, oneRoute('note', 'old'))
  const name = requests('method="GET",route="/note",module="note",status="2xx"')
  await ask('/note')
  await install(t, directory, oneRoute('note', 'new', '2.0.0'))
  t.match(await callRunningHost(directory, 'activate'), { generation: 2 })
  await ask('/note')
  t.equal(await figure(name), 3, 'the self-check asks as well')
  t.equal(await figure('mortise_generation'), 2)
  t.equal(await figure('mortise_generation_switches_total'), 1)
  t.equal(await figure('mortise_retained_packages'), 1)
  t.equal(await figure('mortise_module_up{module="note",version="2.0.0"}'), 1)
  await uninstall(directory, 'note')
  await callRunningHost(directory, 'activate')
  t.equal(await figure(name), 3)
  t.equal(await figure('mortise_module_up{module="note",version="2.0.0"}'), undefined)
})

t.test('a failed module has mortise_module_up 0', async (t) => {
  const broken = { manifest: { id: 'note', routes: ['GET /note'] }, files: { 'index.js': 'throw 1' } }
  const { ask, figure } = await running(t, {}, broken)
  await ask('/note')
  t.equal(await figure('mortise_module_up{module="note",version="1.0.0"}'), 0)
  t.equal(await figure(requests('method="GET",route="/note",module="note",status="5xx"')), 1)
})

t.test('commits are counted with their transactions', async (t) => {
  const { ask, figure } = await running(t)
  const before = (await figure('mortise_commit_transactions_sum')) as number
  const guests = Array.from({ length: 3 }, () => ask('/guest', { method: 'POST' }))
  for (const guest of guests) t.match(await guest, { status: 201 })
  t.equal(await figure('mortise_commit_transactions_sum'), before + 3)
  const commits = (await figure('mortise_commit_transactions_count')) as number
  t.equal(await figure('mortise_commit_duration_seconds_count'), commits)
  t.ok(((await figure('mortise_commit_duration_seconds_sum')) as number) > 0)
  t.equal(await figure('mortise_database_connections{state="idle"}'), undefined, 'there are none')
})

t.test('requests of a previous generation count as in flight', async (t) => {
  const slow = {
    manifest: { id: 'slow', routes: ['GET /slow'] },
    files: {
      'index.js': `export default async (app) => {
        app.get('/slow', { config: { access: 'public' } }, (_request, reply) => {
          reply.raw.writeHead(200)
          reply.raw.write('begun')
          process.once('slow', () => reply.raw.end())
          reply.hijack()
        })
      }`,
    },
  }
  const { directory, application, ask, figure } = await running(t, {}, slow)
  t.equal(await figure('mortise_requests_in_flight'), 1, 'the one that asks')
  const response = await fetch(`${application.url}/slow`)
  t.equal(await figure('mortise_requests_in_flight'), 2)
  await uninstall(directory, 'slow')
  await callRunningHost(directory, 'activate')
  t.match(await ask('/slow'), { status: 404 })
  t.equal(await figure('mortise_requests_in_flight'), 2)
  process.emit('slow' as never)
  await response.text()
})

t.test('is for connections from allowed addresses, and for tokens with the scope', async (t) => {
  const { directory, ask } = await running(t, { basePath: '/api' })
  t.match(await ask('/metrics'), { status: 200 })
  t.match(await ask('/metrics', { headers: { 'if-match': '"x"' } }), { status: 412 }, 'it has no ETag')
  for (const name of [
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'Via',
    'CF-Connecting-IP',
    'True-Client-IP',
  ]) {
    t.match(await ask('/metrics', { headers: { [name]: '127.0.0.1' } }), { status: 401 }, name)
  }
  const headers = async (scope: string) => {
    const token = await mintApplicationToken({
      directory,
      subject: 'prometheus',
      scopes: [scope],
      expiresIn: '1h',
    })
    return { headers: { authorization: `Bearer ${token}`, via: '1.1 proxy' } }
  }
  t.match(await ask('/metrics', await headers('metrics:read')), { status: 200 })
  t.match(await ask('/metrics', await headers('admin')), { status: 200 })
  t.match(await ask('/metrics', await headers('purchase:read')), { status: 403, body: /metrics:read/ })
  t.match(await ask('/metrics', { headers: { authorization: 'Bearer no', via: '1.1 proxy' } }), {
    status: 401,
  })
})

t.test('the allowed origins are a setting', async (t) => {
  const none = await running(t, { metrics: { allow: [] } })
  t.match(await none.ask('/metrics'), { status: 401, body: /metrics:read/ })
  const other = await running(t, { metrics: { allow: ['10.0.0.0/8', '::1'] } })
  t.match(await other.ask('/metrics'), { status: 401 })
  const both = await running(t, { server: { port: 0, host: '::' }, metrics: { allow: ['127.0.0.1'] } })
  const { port } = new URL(both.application.url)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request({ host: '127.0.0.1', port, path: '/metrics' }, resolve).once('error', reject).end()
  const response = await promise
  t.equal(response.statusCode, 200, 'an IPv4 address that arrives as an IPv6 one')
  await text(response)
  for (const wrong of ['10.0.0.0/33', '300.1.1.1', '::/129', 'localhost']) {
    await t.rejects(running(t, { metrics: { allow: [wrong] } }), { message: /metrics.allow.0.*CIDR/ }, wrong)
  }
})

testOnPostgres('connections to PostgreSQL are reported', async (t, _open, url) => {
  const { ask, figure } = await running(t, { database: url })
  await ask('/guest', { method: 'POST' })
  t.ok(((await figure('mortise_database_connections{state="idle"}')) as number) >= 1)
  t.equal(await figure('mortise_database_waiting'), 0)
  t.equal(await figure('mortise_database_retries_total'), 0)
  t.equal(await figure('mortise_commit_transactions_count'), 0)
})

testOnPostgres('operating.md has every figure with its type, and no other', async (t, _open, url) => {
  const page = await readFile(new URL('../../../docs/operating.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| (`(?:mortise|nodejs|process)_.+`) \| (.+?) \|/gm)]
  const documented = rows.flatMap(([, names = '', types = '']) => {
    const [first, second = first] = types.split(', ')
    return names.split(', ').map((name, index) => `${name.slice(1, -1)} ${index === 0 ? first : second}`)
  })
  // The parent of workers adds the first; a first scheduled backup adds the others.
  const backups = ['last', 'last_failed'].map((one) => `mortise_${one}_backup_timestamp_seconds gauge`)
  const shown = new Set(['mortise_workers gauge', ...backups])
  for (const options of [{ database: url }, {}]) {
    const { body } = await (await running(t, options)).ask('/metrics')
    for (const [, line = ''] of body.matchAll(/^# TYPE (.+)$/gm)) shown.add(line)
  }
  t.same(documented.sort(), [...shown].sort())
})
