import { join } from 'node:path'
import { pickRegistry } from 'npm-registry-fetch'
import t from 'tap'
import { npmOptions } from '../../src/install/npm-options.ts'

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

t.test('what would weaken an installation is not taken from .npmrc', async (t) => {
  const directory = t.testdir({ '.npmrc': 'ignore-scripts=false\nallow-git=all\nscript-shell=/bin/evil\n' })
  const options = await npmOptions(directory, { npm_config_userconfig: '/nowhere' })
  t.match(options, { ignoreScripts: true, allowGit: 'none' })
  t.notOk('scriptShell' in options)
})
