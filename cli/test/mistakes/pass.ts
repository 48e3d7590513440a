import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { runApp } from '../run-app.ts'

/** Checks the modules whose package.json has such a path, on the server of APP_TEST_DATABASE_URL, too. */
export async function allPass(t: Test, pattern: string, count: number): Promise<void> {
  const cwd = join(import.meta.dirname, '../../..')
  const modules = globSync(pattern, { cwd }).map((file) => join(cwd, dirname(file)))
  t.ok(modules.length >= count)
  const beside = [join(cwd, 'packages/api-purchase'), join(cwd, 'docs/examples/tally')].join(',')
  const { stdout, exitCode } = await runApp('module-check', '--json', ...modules, '--with', beside)
  t.equal(exitCode, 0, stdout)
}
