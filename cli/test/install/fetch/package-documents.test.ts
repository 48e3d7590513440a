import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadPacote, type NpmOptions, npmOptions } from '@mortise/installer'
import { type Test, test } from 'tap'

/** The options for a registry that responds so. */
async function registryOf(
  t: Test,
  timeout: number,
  respond: (response: ServerResponse) => void,
): Promise<NpmOptions> {
  const server = createServer((_, response) => respond(response))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return await npmOptions(t.testdir(), {
    npm_config_userconfig: '/dev/null',
    npm_config_registry: registry,
    npm_config_cache: t.testdir(),
    npm_config_fetch_retries: '0',
    npm_config_fetch_timeout: String(timeout),
  })
}

const manifest = async (npm: NpmOptions, spec = 'evil') => await (await loadPacote()).manifest(spec, npm)

test('npm fetches documents of packages within limits', async (t) => {
  const warnings: string[] = []
  const keep = ({ message }: Error) => warnings.push(message)
  process.on('warning', keep)
  t.teardown(() => process.off('warning', keep))

  await t.test('a document without end', async (t) => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const npm = await registryOf(t, 60_000, (response) => {
      response.once('close', close)
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(1 << 20)));
      }
      response.on('drain', more)
      more()
    })
    await t.rejects(manifest(npm), /more than 67108864 bytes/)
    await t.rejects(manifest(npm, 'evil@1.0.0'), /more than 67108864 bytes/, 'which is not fetched twice')
    await closed
  })

  await t.test('a document of a byte now and then', async (t) => {
    const npm = await registryOf(t, 100, (response) => {
      const timer = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(timer))
    })
    await t.rejects(manifest(npm), /takes too long|timeout/i)
  })

  await t.test('a document that describes no package', async (t) => {
    const npm = await registryOf(t, 60_000, (response) => response.end('[]'))
    await t.rejects(manifest(npm), /describes no package/)
  })

  await t.test('a document that is right', async (t) => {
    let requests = 0
    const npm = await registryOf(t, 60_000, (response) => {
      requests += 1
      const versions = { '1.0.0': { name: 'evil', version: '1.0.0', dist: { tarball: 'http://x/y.tgz' } } }
      response.end(JSON.stringify({ name: 'evil', 'dist-tags': { latest: '1.0.0' }, versions }))
    })
    t.match(await manifest(npm), { version: '1.0.0' })
    t.match(await manifest(npm, 'evil@^1'), { version: '1.0.0' })
    t.equal(requests, 1)
  })

  t.same(warnings, [], 'no warning of Node reaches the terminal')
})
