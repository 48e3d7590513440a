import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testApplication } from '../run-app.ts'

/** An application whose PostgreSQL nobody has started. */
async function onPostgres(t: Test) {
  const application = await testApplication(t)
  const file = join(application.directory, 'app.config.json')
  const config = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...config, database: 'postgres://ann:secret@127.0.0.1:1/shop' }))
  return application
}

t.test('what is made of the SQLite file is refused on PostgreSQL, with what to do instead', async (t) => {
  const { run, root } = await onPostgres(t)
  for (const [command, hint] of [
    [['backup', join(root, 'a.tgz')], /pg_dump/],
    [['restore', join(root, 'a.tgz')], /pg_restore/],
    [['module-remove', '--purge', 'api-cart'], /pg_dump/],
  ] as const) {
    const { exitCode, json } = await run(...command)
    t.equal(exitCode, 4)
    t.match(json, { error: { code: 'not-on-postgres', hint } }, command[0])
  }
})

t.test('a server that cannot be reached is told by doctor, and its password by nobody', async (t) => {
  const { run } = await onPostgres(t)
  const examined = await run('doctor')
  t.match(examined.stdout, /database-unreachable/)
  t.match(examined.stdout, /ECONNREFUSED/)
  const shown = await run('config', 'get', 'database')
  t.match(shown.json, { value: 'postgres://ann:(set)@127.0.0.1:1/shop' })
  for (const { stdout, stderr } of [examined, shown, await run('config', 'get')]) {
    t.notMatch(stdout + stderr, 'secret@')
  }
})
