import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pickRegistry } from 'npm-registry-fetch'
import t from 'tap'
import { npmOptions } from '../../../src/install/fetch/npm-options.ts'
import { publishedManifest } from '../../../src/install/fetch/verify-signature.ts'

t.test('the public registry is the default; scripts, git and URLs are off', async (t) => {
  const options = await npmOptions(t.testdir({}), { npm_config_userconfig: '/nowhere' })
  t.match(options, {
    registry: pickRegistry('npm'),
    ignoreScripts: true,
    allowGit: 'none',
    allowRemote: 'none',
  })
})

t.test("the user's .npmrc, then the application's, then the environment", async (t) => {
  const directory = t.testdir({
    // biome-ignore lint/suspicious/noTemplateCurlyInString: npm's own placeholder
    user: '; comment\n# comment\nregistry = https://user.example/\n@acme:registry="https://acme.example/"\n//acme.example/:_authToken=${TOKEN}\n',
    '.npmrc': 'registry=https://application.example/\nstrict-ssl=false\n',
  })
  const environment = { npm_config_userconfig: join(directory, 'user'), TOKEN: 'secret' }
  t.match(await npmOptions(directory, environment), {
    registry: 'https://application.example/',
    '@acme:registry': 'https://acme.example/',
    '//acme.example/:_authToken': 'secret',
    strictSSL: false,
  })
  const more = {
    ...environment,
    NPM_CONFIG_REGISTRY: 'https://environment.example/',
    npm_config_cache: '/cache',
  }
  t.match(await npmOptions(directory, more), {
    registry: 'https://environment.example/',
    cache: '/cache/_cacache',
  })
})

t.test('unsafe settings in .npmrc are ignored', async (t) => {
  const directory = t.testdir({ '.npmrc': 'ignore-scripts=false\nallow-git=all\nscript-shell=/bin/evil\n' })
  const options = await npmOptions(directory, { npm_config_userconfig: '/nowhere' })
  t.match(options, { ignoreScripts: true, allowGit: 'none' })
  t.notOk('scriptShell' in options)
})

t.test(
  'a request to a registry that fails at first is retried after a delay, without a warning of Node',
  async (t) => {
    const asked: number[] = []
    const server = createServer((_, response) => {
      asked.push(performance.now())
      if (asked.length < 2) response.writeHead(503).end()
      else response.writeHead(404).end('{}')
    })
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    t.teardown(() => server.close())
    const directory = t.testdir({})
    const environment = {
      npm_config_userconfig: '/nowhere',
      npm_config_cache: join(directory, 'cache'),
      npm_config_registry: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      npm_config_fetch_retry_mintimeout: '50',
    }
    const warnings: string[] = []
    const note = ({ name }: Error) => warnings.push(name)
    process.on('warning', note)
    t.teardown(() => process.off('warning', note))
    await t.rejects(publishedManifest('@acme/x', await npmOptions(directory, environment)), { code: 'E404' })
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(warnings, [])
    const [first = 0, second = 0] = asked
    t.ok(second - first >= 45, 'it waits in between')
  },
)

t.test(
  '.npmrc sets the number of retries and the delay between them, and neither of them is ever zero',
  async (t) => {
    const number = ['fetchRetries', 'fetchRetryFactor', 'fetchRetryMintimeout', 'fetchRetryMaxtimeout']
    const left = await npmOptions(t.testdir({}), { npm_config_userconfig: '/nowhere' })
    for (const name of number) t.type(left[name], 'number', name)
    await t.test('a least wait above the longest of ours', async (t) => {
      const directory = t.testdir({ '.npmrc': 'fetch-retry-mintimeout=10000\nfetch-retry-factor=3\n' })
      t.match(await npmOptions(directory, { npm_config_userconfig: '/nowhere' }), {
        fetchRetryFactor: 3,
        fetchRetryMintimeout: 10_000,
        fetchRetryMaxtimeout: 10_000,
      })
    })
  },
)

t.test("npm's cache is in the store if the configured one is not writable", async (t) => {
  const directory = t.testdir({ file: '' })
  const environment = {
    npm_config_userconfig: '/nowhere',
    npm_config_cache: join(directory, 'file', 'cache'),
  }
  t.match(await npmOptions(directory, environment), { cache: /\.app\/store\/\.staging-npm-cache\/_cacache$/ })
  t.match(await npmOptions(directory, environment, true), {
    cache: join(directory, 'file', 'cache', '_cacache'),
  })
})
