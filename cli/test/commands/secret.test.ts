import { chmod, copyFile, cp, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { killBefore } from '../kill-before.ts'
import { runApp, testApplication } from '../run-app.ts'
import { startApp } from '../run-process.ts'
import { runningHost } from '../running-host.ts'
import { skipPostgres, usePostgres } from '../test-on-engines.ts'

const secretOf = (directory: string) => readFile(join(directory, '.app', 'secret'), 'utf8')

/** The status of a request that needs the scope of the token. */
async function asked(host: { url: string }, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, via: 'a proxy, so that no address is enough' }
  return (await fetch(`${host.url}/metrics`, { headers })).status
}

async function withTokens(t: Test) {
  const application = await testApplication(t)
  const token = async (...argv: string[]) =>
    (await application.run('token', 'alice', '--scope', 'metrics:read', ...argv)).json.token as string
  return { ...application, token }
}

t.test('a rotation is refused beside a host with APP_SECRET, even the same one as in the file', async (t) => {
  const { directory, run } = await withTokens(t)
  const before = await secretOf(directory)
  const environment = { APP_LOG_LEVEL: 'silent', APP_SECRET: before.trim() }
  await runningHost(t, directory, { environment })
  const refused = await run('secret', 'rotate')
  t.match(refused, {
    exitCode: 2,
    json: {
      error: { code: 'secret-elsewhere', message: /APP_SECRET in the environment of the running host/ },
    },
  })
  t.equal(await secretOf(directory), before)
})

t.test(
  'a running host takes tokens of both secrets, until the last one of "app token" expires',
  async (t) => {
    const { directory, run, token } = await withTokens(t)
    const host = await runningHost(t, directory)
    const old = await token('--expires', '2d')
    const before = await secretOf(directory)
    const done = await run('secret', 'rotate')
    t.match(done, { exitCode: 0, json: { file: join(directory, '.app', 'secret'), live: true, hosts: [] } })
    const left = Date.parse(done.json.until) - Date.now()
    t.ok(left > 2 * 86_400_000 - 60_000 && left < 2 * 86_400_000 + 60_000, 'until the token expires')
    t.not(await secretOf(directory), before)
    t.equal((await stat(join(directory, '.app', 'secret'))).mode & 0o777, 0o600)
    const fresh = await token()
    t.strictSame([await asked(host, old), await asked(host, fresh)], [200, 200])

    await run('secret', 'rotate')
    t.strictSame(
      [await asked(host, old), await asked(host, fresh), await asked(host, await token())],
      [200, 200, 200],
    )
    const { json } = await run('audit')
    const rotations = json.records.filter((record: { action: string }) => record.action === 'secret')
    t.match(rotations, [{ details: { until: String } }, { details: { command: 'secret rotate' } }])

    await host.close()
    const again = await runningHost(t, directory)
    t.strictSame([await asked(again, old), await asked(again, fresh)], [200, 200], 'after a restart')
  },
)

t.test('--now ends every token at once, also those of earlier secrets', async (t) => {
  const { directory, run, token } = await withTokens(t)
  const host = await runningHost(t, directory)
  const first = await token()
  await run('secret', 'rotate')
  const second = await token()
  t.strictSame([await asked(host, first), await asked(host, second)], [200, 200])
  t.match(await run('secret', 'rotate', '--now'), { exitCode: 0, json: { until: null, live: true } })
  t.strictSame([await asked(host, first), await asked(host, second)], [401, 401])
  t.equal(await asked(host, await token()), 200)
})

t.test('a stated overlap ends the previous secret at its time', async (t) => {
  const { directory, run, token } = await withTokens(t)
  const host = await runningHost(t, directory)
  const old = await token()
  const { json } = await run('secret', 'rotate', '--overlap', '2s')
  t.equal(await asked(host, old), 200, 'and the verdict is cached')
  while (Date.now() <= Date.parse(json.until)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(await asked(host, old), 401)
})

t.test('a host reads a copied secret by itself, and takes it at its next start', async (t) => {
  const { directory, run, token } = await withTokens(t)
  const host = await runningHost(t, directory)
  const old = await token()
  const file = join(directory, '.app', 'secret')
  const previous = `previous ${Buffer.from((await secretOf(directory)).trim()).toString('base64url')} until ${new Date(Date.now() + 60_000).toISOString()}`
  // As an operator copies it from another machine.
  await writeFile(file, `a secret of another machine with 32 bytes\n${previous}\n`)
  const fresh = await token()
  while ((await asked(host, fresh)) !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(await asked(host, old), 200)
  await host.close()
  const again = await runningHost(t, directory)
  t.equal(await asked(again, fresh), 200)
  t.match(await run('doctor'), { exitCode: 0 })
})

t.test(
  'the other hosts of a database are named, and follow once the file is copied',
  { skip: skipPostgres },
  async (t) => {
    const { directory, root, run, token } = await withTokens(t)
    await usePostgres(t, directory)
    const copy = join(root, 'copy')
    await cp(directory, copy, { recursive: true })
    const hosts = [await runningHost(t, directory), await runningHost(t, copy)] as const
    const old = await token()
    const rotated = await run('secret', 'rotate')
    t.match(rotated, { exitCode: 0, json: { live: true, hosts: [hosts[1].url] } })
    const fresh = await token()
    t.strictSame([await asked(hosts[0], fresh), await asked(hosts[1], fresh)], [200, 401])
    await copyFile(join(directory, '.app', 'secret'), join(copy, '.app', 'secret'))
    while ((await asked(hosts[1], fresh)) !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
    for (const host of hosts) t.equal(await asked(host, old), 200)
  },
)

t.test('killed before any of its writes, the old secret or the new one signs', async (t) => {
  const { directory, run, token } = await withTokens(t)
  for (let write = 1, isKilled = true; isKilled; write += 1) {
    const old = await token()
    const killed = startApp(t, ['secret', 'rotate', '--dir', directory], killBefore(write))
    isKilled = (await killed.ended) === 'SIGKILL'
    const host = await runningHost(t, directory)
    t.strictSame([await asked(host, old), await asked(host, await token())], [200, 200], `write ${write}`)
    await host.close()
    if (write > 40) t.fail('it never ends')
  }
  t.match(await run('secret', 'rotate'), { exitCode: 0 })
})

t.test('the file stays private', async (t) => {
  const { directory, run } = await withTokens(t)
  await chmod(join(directory, '.app', 'secret'), 0o644)
  await run('secret', 'rotate')
  t.equal((await stat(join(directory, '.app', 'secret'))).mode & 0o777, 0o600)
})

t.test('a secret of APP_SECRET is refused, with what to do instead', async (t) => {
  const { directory, run } = await withTokens(t)
  const before = await secretOf(directory)
  t.intercept(process, 'env', {
    value: { ...process.env, APP_SECRET: 'a secret of 32 bytes from elsewhere' },
  })
  const refused = await runApp('secret', 'rotate', '--dir', directory, '--json')
  t.match(refused, { exitCode: 2, json: { error: { code: 'secret-elsewhere', hint: /restart the hosts/ } } })
  t.equal(await secretOf(directory), before)
  for (const argv of [['turn'], ['rotate', '--overlap', 'soon'], ['rotate', '--overlap', '1d', '--now'], []])
    t.match(await run('secret', ...argv), { exitCode: 2 })
})
