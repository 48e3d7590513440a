import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { StreamReader } from '../../packages/api-event/test/event/stream-reader.ts'
import { localIssuer } from '../../packages/web-console/test/local-issuer.ts'
import { checkoutRegistry } from './checkout-registry.ts'
import { testApplication } from './run-app.ts'
import { startApp } from './run-process.ts'
import { databaseUrl, skipPostgres, testOnEngines, usePostgres } from './test-on-engines.ts'

type TestApplication = Awaited<ReturnType<typeof testApplication>>

/** A receiver of webhooks. */
async function receiver(t: Test) {
  const received: string[] = []
  const server = createServer((request, response) => {
    received.push(String(request.headers['webhook-id']))
    request.resume()
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** An application that serves, as many processes as it says, and what a token can leave behind there. */
async function served(t: Test, { directory, run }: TestApplication, workers: number) {
  process.env.npm_config_registry = await checkoutRegistry(t, '', () => false)
  const installed = await run('module-install', 'web-console', 'api-event', 'api-product')
  t.equal(installed.exitCode, 0, installed.stdout)
  await run('config', 'set', 'api-event.webhookPlainHttp', 'true')
  await run('config', 'set', 'api-event.webhookNetworks', '["127.0.0.0/8"]')
  const { received, url: hook } = await receiver(t)
  const several = workers > 1 ? ['--workers', `${workers}`] : []
  const argv = ['start', ...several, '--port', '0', '--dir', directory, '--json']
  const start = async () => {
    const running = startApp(t, argv)
    await running.says(/"url": "[^"]+"[^}]*}/)
    return { running, url: JSON.parse(running.stdout).url as string }
  }
  let { running, url } = await start()
  // Each connection goes to the next process.
  const ask = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${url}${path}`, {
      headers: { ...headers, connection: 'close', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    received,
    async restart() {
      if (workers > 1) return t.match(await run('restart'), { exitCode: 0 })
      running.child.kill('SIGTERM')
      t.equal(await running.ended, 0)
      ;({ running, url } = await start())
    },
    /** A session, a webhook of everyone's events, and a stream in every process. */
    async derive(token: string) {
      const page = { 'x-console': '1', origin: url }
      const signedIn = await ask('/console/session', page, { token })
      const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
      const made = await ask('/webhook', bearer(token), { url: hook, everyone: true })
      t.equal(made.status, 201)
      const streams = await Promise.all(
        Array.from({ length: 4 * workers }, () => StreamReader.open(t, `${url}/event`, bearer(token))),
      )
      t.ok(streams.every(({ response }) => response.statusCode === 200))
      return { token, cookie, streams, webhook: ((await made.json()) as { id: string }).id }
    },
    /** What each process says to the token, and to its session. */
    async statusesOf({ token, cookie }: { token: string; cookie: string }) {
      const statuses = new Set<string>()
      for (let asked = 0; asked < 4 * workers; asked += 1) {
        const own = (await ask('/webhook', bearer(token))).status
        statuses.add(`${own} ${(await ask('/console/operator/audit', { cookie })).status}`)
      }
      return [...statuses]
    },
    /** Has something happen, and waits until the webhook is disabled. */
    async stopped(token: string, webhook: string) {
      const tea = { id: 'tea', name: 'Tea', price: { amount: 100, currency: 'EUR' } }
      t.equal((await ask('/product', bearer(token), tea)).status, 201)
      for (;;) {
        const response = await ask(`/webhook/${webhook}`, bearer(token))
        const shown = (await response.json()) as { enabled: boolean; disabledReason: string }
        if (!shown.enabled) return shown
        await setTimeout(20)
      }
    },
  }
}

const tokenOf = async ({ run }: TestApplication, subject: string): Promise<string> =>
  (await run('token', subject, '--scope', 'admin')).json.token

t.test('--now ends all that a secret has proved, in every process', { skip: skipPostgres }, async (t) => {
  const application = await testApplication(t)
  await usePostgres(t, application.directory)
  const host = await served(t, application, 2)
  const derived = await host.derive(await tokenOf(application, 'ann'))
  t.same(await host.statusesOf(derived), ['200 200'])

  t.match(await application.run('secret', 'rotate', '--now'), { exitCode: 0, json: { live: true } })
  t.same(await host.statusesOf(derived), ['401 401'])
  t.same(new Set(await Promise.all(derived.streams.map(({ ended }) => ended))), new Set([true]))
  const next = await tokenOf(application, 'ben')
  t.match(await host.stopped(next, derived.webhook), { disabledReason: 'unproven' })
  t.same(host.received, [])
  t.same(await host.statusesOf(await host.derive(next)), ['200 200'])
})

testOnEngines(
  'an issuer that is removed ends all that it has proved, at the restart',
  async (t, application) => {
    const { run, directory } = application
    const issuer = await localIssuer(t)
    t.match(await run('config', 'set', 'auth.issuers', JSON.stringify([issuer.trusted])), { exitCode: 0 })
    const host = await served(t, application, (await databaseUrl(directory))?.startsWith('postgres') ? 2 : 1)
    issuer.grants.set('code', {
      challenge: createHash('sha256').update('verifier').digest('base64url'),
      scope: 'admin',
      redirectUri: directory,
    })
    const response = await fetch(`${issuer.state.issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({ code: 'code', code_verifier: 'verifier', redirect_uri: directory }),
    })
    const derived = await host.derive(((await response.json()) as { access_token: string }).access_token)
    t.same(await host.statusesOf(derived), ['200 200'])

    t.match(await run('config', 'set', 'auth.issuers', '[]'), { exitCode: 0 })
    t.same(await host.statusesOf(derived), ['200 200'], 'until the host starts again')
    t.match((await run('doctor')).json.findings, [{ id: 'settings-pending', message: /auth.issuers/ }])
    await host.restart()
    t.same(await host.statusesOf(derived), ['401 401'])
    await Promise.all(derived.streams.map(({ ended }) => ended))
    const own = await tokenOf(application, 'ben')
    t.match(await host.stopped(own, derived.webhook), { disabledReason: 'unproven' })
    t.same(host.received, [])
  },
)
