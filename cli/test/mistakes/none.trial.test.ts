import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { runApp } from '../run-app.ts'

// On the server of APP_TEST_DATABASE_URL, where there is one.
t.test('our modules and examples pass', async (t) => {
  const cwd = join(import.meta.dirname, '../../..')
  const files = globSync(['packages/api-*/package.json', 'docs/examples/*/package.json'], { cwd })
  const modules = files.map((file) => join(cwd, dirname(file)))
  t.ok(modules.length >= 13)
  const beside = [join(cwd, 'packages/api-purchase'), join(cwd, 'docs/examples/tally')].join(',')
  const { stdout, exitCode } = await runApp('module-check', '--json', ...modules, '--with', beside)
  t.equal(exitCode, 0, stdout)
})
