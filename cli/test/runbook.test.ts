import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { checkout } from './operating-page.ts'
import { testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'

/** The lines of the table in the runbook, with the commands of each. */
async function runbook(): Promise<string[][]> {
  const page = await readFile(join(checkout, 'docs', 'operating.md'), 'utf8')
  const [, section = ''] = /^## Runbook$([\s\S]*?)^## /m.exec(page) ?? []
  const rows = Array.from(section.matchAll(/^\| (?!What|-).*$/gm), ([row]) => row)
  return rows.map((row) => Array.from(row.matchAll(/`app ([^`]+)`/g), ([, words]) => words as string))
}

t.test('operating.md begins with the runbook', async (t) => {
  const page = await readFile(join(checkout, 'docs', 'operating.md'), 'utf8')
  t.match(page.match(/^## .+$/m)?.[0], '## Runbook')
})

t.test('every app command of the runbook works beside a running host', async (t) => {
  const { root, directory, run } = await testApplication(t)
  t.equal((await run('module-install', 'api-cart')).exitCode, 0)
  t.equal((await run('module-install', '--yes', await sampleTarball(join(root, 'hello.tgz')))).exitCode, 0)
  const host = await runningHost(t, directory)
  const commands = new Set((await runbook()).flat())
  t.ok(commands.size > 10)
  for (const words of commands) {
    if (words === 'start') continue
    const { exitCode, stdout } = await run(...words.split(' '))
    t.equal(exitCode, 0, `app ${words}: ${stdout}`)
  }
  await host.close()
})
