import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { applicationFolder } from '../../packages/application/test/application-folder.ts'
import { skip, smallVolume } from '../../packages/storage/test/small-volume.ts'
import { Application } from '../src/application.ts'
import { callRunningHost } from '../src/control/call-running-host.ts'

/** Where `post` becomes a guest, which is a write, and returns status and code. */
async function running(t: Test, directory: string) {
  const host = await Application.start({
    directory,
    environment: { APP_RATE_LIMIT_MAX: '0', APP_SERVER_MAX_CONNECTIONS_PER_ADDRESS: '0' },
  })
  t.teardown(() => host.close())
  host.closed.catch((error) => t.fail(`the host ended: ${error.message}`))
  const tokens: string[] = []
  const post = async () => {
    const response = await fetch(`${host.url}/guest`, { method: 'POST' })
    const body = (await response.json()) as { token?: string; code?: string }
    if (body.token !== undefined) tokens.push(body.token)
    return { status: response.status, code: body.code, retryAfter: response.headers.get('retry-after') }
  }
  const read = async (path: string) => (await fetch(host.url + path)).status
  return { host, post, read, tokens }
}

const refused = { status: 503, code: 'storage-full', retryAfter: '5' }

t.test(
  'a full disk refuses writes and nothing else, and no acknowledged write is lost',
  { skip },
  async (t) => {
    const volume = smallVolume(t, 24)
    const directory = join(volume.folder, 'shop')
    await cp(await applicationFolder(t), directory, { recursive: true })
    const { host, post, read, tokens } = await running(t, directory)
    for (let time = 0; time < 3; time++) {
      t.match(await post(), { status: 201 })
      volume.fill()
      // At once, before anybody has looked at the disk: some may still fit into the log that is there.
      const responses = await Promise.all(Array.from({ length: 300 }, post))
      t.ok(responses.some(({ status }) => status === 503))
      // A slow machine refuses some as `busy`.
      for (const response of responses)
        if (response.status !== 201 && response.code !== 'busy') t.match(response, refused)
      for (const path of ['/', '/health/ready', '/health/live', '/openapi.json', '/idempotency/key'])
        t.equal(await read(path), 200, path)
      const figures = await (await fetch(`${host.url}/metrics`)).text()
      t.match(figures, /^mortise_writes_refused 1$/m)
      volume.empty()
      while ((await post()).status !== 201) await pause(50)
    }
    await host.close()
    const again = await running(t, directory)
    for (const token of tokens) {
      const { status } = await fetch(`${again.host.url}/idempotency/key`, {
        headers: { 'guest-token': token },
      })
      t.equal(status, 200, 'a guest who is known')
    }
  },
)

t.test('below the configured mark writes are refused, and GET /idempotency is none', async (t) => {
  const directory = await applicationFolder(t, { storage: { minFreeBytes: Number.MAX_SAFE_INTEGER } })
  const { host, post, read, tokens } = await running(t, directory)
  await post()
  while ((await post()).status === 201) await pause(50)
  t.match(await post(), refused)
  t.equal(await read('/health/ready'), 200)
  const headers = { 'guest-token': tokens[0] as string }
  const known = await fetch(`${host.url}/idempotency/key`, { headers })
  t.match(await known.json(), { state: 'unknown' })
  t.same(await callRunningHost(directory, 'migrate', { modules: {} }), { applied: [] })
})
