import { checkContents } from '@mortise/installer'
import t from 'tap'

const description = (more: object) => JSON.stringify({ name: '@acme/hello', version: '1.0.0', ...more })

t.test('a main file or an exports map that leads out of the package is refused', async (t) => {
  const wrong: readonly object[] = [
    { main: '../../outside.js' },
    { exports: '../../outside.js' },
    { exports: './../../outside.js' },
    { exports: './a/..' },
    { exports: './%2E%2e/outside.js' },
    { exports: '.\\..\\outside.js' },
    { exports: '/etc/passwd' },
    { exports: { '.': { node: { import: ['./index.js', '../outside.js'] } } } },
    { exports: { '.': './index.js', './more': './../outside.js' } },
  ]
  for (const more of wrong) {
    const folder = t.testdir({ 'package.json': description(more) })
    await t.rejects(checkContents(folder, 'it'), {
      code: 'unsafe-package',
      message: /is outside the package/,
    })
  }
  const right: readonly object[] = [
    {},
    { main: './lib/index.js', exports: null },
    { exports: { '.': { types: './index.d.ts', default: './..index.js' }, './private/*': null } },
  ]
  for (const more of right) await checkContents(t.testdir({ 'package.json': description(more) }), 'it')
})

t.test('a package.json with a byte order mark is accepted, as by npm', async (t) => {
  await checkContents(t.testdir({ 'package.json': `\ufeff${description({})}` }), 'it')
})
