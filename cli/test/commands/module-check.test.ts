import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { check, write } from '../mistakes/plant.ts'
import { shelf } from '../mistakes/shelf.ts'
import { runApp } from '../run-app.ts'

t.test('a module without mistakes passes', async (t) => {
  t.strictSame(await check(await write(t.testdir({}), shelf)), [])
})

t.test('--fix writes the manifest, and the down of what only creates', async (t) => {
  const folder = await write(t.testdir({}), {
    ...shelf,
    'migrations/002-filled.down.sql': null,
  })
  const json = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  json.mortise.routes.pop()
  await writeFile(join(folder, 'package.json'), JSON.stringify(json))
  const { stdout, exitCode } = await runApp('module-check', '--json', '--fix', folder)
  t.equal(exitCode, 0, stdout)
  t.match(JSON.parse(stdout), {
    modules: [{ fixed: ['package.json', 'migrations/002-filled.down.sql'], findings: [] }],
  })
})

t.test('our modules and examples pass', async (t) => {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const modules = ['api-cart', 'api-event', 'api-purchase'].map((name) => join(root, 'packages', name))
  const examples = ['invite', 'ledger', 'note', 'sold', 'stock', 'tally', 'task', 'visit'].map((name) =>
    join(root, 'docs/examples', name),
  )
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
