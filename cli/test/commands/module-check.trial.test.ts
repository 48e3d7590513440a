import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runApp } from '../run-app.ts'

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
