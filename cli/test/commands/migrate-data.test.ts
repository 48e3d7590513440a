import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig, removeDatabaseIdentity } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import t, { type Test } from 'tap'
import { killAfterNaming, killBefore, killBeforeNaming } from '../kill-before.ts'
import { killBeforeQuery } from '../kill-before-query.ts'
import { noteVersions } from '../note-versions.ts'
import { skip, temporarySchema, useDatabase } from '../postgres-schema.ts'
import { startApp } from '../run-process.ts'
import { get, runningHost } from '../running-host.ts'

/** An application on SQLite with some notes, and a schema that it can move to. */
async function notes(t: Test, count = 3) {
  const application = await noteVersions(t, 'ALTER TABLE note DROP COLUMN colour', 'v1')
  const host = await runningHost(t, application.directory)
  for (let time = 0; time < count; time++) await post(host.url)
  await host.close()
  const database = await temporarySchema(t)
  const move = () => application.run('migrate-data', '--to', database.url)
  const moved = async () => Number((await database.execute('SELECT count(*) FROM note'))[0].count)
  return { ...application, ...database, move, moved, file: join(application.directory, 'data', 'app.db') }
}

const post = async (url: string) => (await fetch(`${url}/note`, { method: 'POST' })).status

t.test('a stopped application can be moved, and its SQLite file does not change', { skip }, async (t) => {
  const { directory, move, moved, url, file, run } = await notes(t)
  const before = await readFile(file)
  const done = await move()
  t.match(done, { exitCode: 0, json: { moved: true, running: null, previous: 'data/app.db' } })
  t.match(
    done.json.tables.find(({ table }: { table: string }) => table === 'note'),
    { rows: 3 },
  )
  t.notMatch(done.stdout, /mortise:[^@]*@/, 'no password is reported')
  t.ok(before.equals(await readFile(file)))
  t.equal((await readConfig(directory)).database, url)
  t.match(await move(), { exitCode: 0, json: { moved: false } }, 'once is enough')
  const host = await runningHost(t, directory)
  t.equal(await post(host.url), 200)
  t.equal((await get(host, '/note')).body.notes.length, 4)
  t.equal(await moved(), 4)
  t.ok(before.equals(await readFile(file)))
  t.match(await run('doctor'), { exitCode: 0 })
})

t.test('a running host continues to serve, and no write is left behind', { skip }, async (t) => {
  const { directory, run, move, moved } = await notes(t, 50)
  const host = await runningHost(t, directory)
  const statuses: number[] = []
  let [written, isOver] = [0, false]
  const reading = (async () => {
    for (; !isOver; await pause(5)) statuses.push((await get(host, '/note')).status)
  })()
  const refused = new Set<string>()
  const writing = (async () => {
    for (; !isOver; await pause(5)) {
      const response = await fetch(`${host.url}/note`, { method: 'POST' })
      if (response.status === 200) written += 1
      else refused.add(`${response.status} ${response.headers.get('retry-after')} ${await response.text()}`)
    }
  })()
  const done = await move()
  await new Promise((resolve) => setImmediate(resolve))
  isOver = true
  await Promise.all([reading, writing])
  t.match(done, { exitCode: 0, json: { running: process.pid } })
  t.strictSame([...new Set(statuses)], [200])
  t.match([...refused][0], /^503 \d+ .*The data move to another database: writes are refused/)
  t.equal(await moved(), 50 + written, 'every note that was acknowledged')
  t.equal(await post(host.url), 503, 'until it is restarted')
  t.match(await get(host, '/health/ready'), { status: 503, body: { detail: /host must restart/ } })
  t.equal((await get(host, '/note')).body.notes.length, 50 + written)
  const changed = callRunningHost(directory, 'undo', { migrations: [] })
  await t.rejects(changed, { message: /moved to another database/ }, 'nor is its schema changed')
  t.match(await run('doctor'), { json: { findings: [{ id: 'database-changed', hint: 'Restart it.' }] } })
  await host.close()
  const restarted = await runningHost(t, directory)
  t.equal(await post(restarted.url), 200)
  t.equal(await moved(), 51 + written)
})

t.test('a target in use is refused, and so is an application that cannot be moved', { skip }, async (t) => {
  const { directory, move, execute, schema, run, url } = await notes(t)
  const fails = async (code: string, message: RegExp, outcome = move()) =>
    t.match(await outcome, { json: { error: { code, message } } })
  await execute(`CREATE SCHEMA ${schema}`)
  await execute('CREATE TABLE theirs (id TEXT)')
  await fails('not-movable', /in use: it has tables/)
  await execute('DROP TABLE theirs')
  await fails('usage', /begin with postgres/, run('migrate-data', '--to', 'data/other.db'))
  await fails('usage', /is required/, run('migrate-data'))
  const unreachable = run('migrate-data', '--to', 'postgres://x@127.0.0.1:1/x')
  await fails('database-unreachable', /cannot be/, unreachable)
  t.match((await unreachable).json.error.hint, /correct --to/)
  process.env.APP_DATABASE = 'data/app.db'
  t.teardown(() => delete process.env.APP_DATABASE)
  await fails('database-overridden', /APP_DATABASE/)
  delete process.env.APP_DATABASE

  const host = await runningHost(t, directory)
  await fetch(`${host.url}/note`, { method: 'POST' })
  await useDatabase(directory, 'data/other.db')
  await writeFile(join(directory, 'data', 'other.db'), '')
  await fails('invalid-config', /does not use/)
  t.equal(await post(host.url), 200, 'it keeps writing')
  await host.close()
  await useDatabase(directory, 'data/none.db')
  await fails('no-data', /nothing to move/)
  await useDatabase(directory, `${url}_2`)
  await fails('not-on-sqlite', /already/)
})

t.test('a row that PostgreSQL cannot store is named, and the application continues', { skip }, async (t) => {
  const { directory, move, file } = await notes(t)
  const { default: SqliteDatabase } = await import('better-sqlite3')
  const database = new SqliteDatabase(file)
  database.prepare('INSERT INTO note (body) VALUES (?)').run('a\0b')
  database.close()
  const host = await runningHost(t, directory)
  t.match(await move(), {
    exitCode: 4,
    json: {
      error: { code: 'not-movable', message: /"note" with body "a\\u0000b" has in the column "body" a NUL/ },
    },
  })
  t.equal(await post(host.url), 200)
})

t.test('what a killed move has filled belongs to this application', { skip }, async (t) => {
  const { directory, move, run, url, execute, moved } = await notes(t)
  const argv = ['migrate-data', '--to', url, '--dir', directory]
  // The first rename is that of the identity, after the rows are there.
  t.equal(await startApp(t, argv, killBefore(1)).ended, 'SIGKILL')
  t.equal(await moved(), 3)
  const file = join(directory, 'app.config.json')
  const config = await readFile(file, 'utf8')
  t.notOk(config.includes(url))
  await writeFile(file, config.replace('urn:uuid:', 'urn:uuid:other-'))
  t.match(await move(), { exitCode: 4, json: { error: { message: /another application/ } } })
  await writeFile(file, config)
  await execute('DELETE FROM note')
  await run('module-disable', 'note')
  t.match(await move(), { exitCode: 0 })
  t.equal(await moved(), 3)
  const host = await runningHost(t, directory)
  await host.close()
  await writeFile(file, config)
  await removeDatabaseIdentity(directory)
  t.match(await move(), { exitCode: 4, json: { error: { message: /in use/ } } }, 'a host has used it')
})

t.test('after a kill of the host during the switch, one database has every row', { skip }, async (t) => {
  const { directory, moved, url } = await notes(t)
  const config = join(directory, 'app.config.json')
  for (const [kill, hasMoved] of [
    [killBeforeNaming(config), false],
    [killAfterNaming(config), true],
  ] as const) {
    const host = startApp(t, ['start', '--no-supervisor', '--port', '0', '--json', '--dir', directory], kill)
    await host.says(/"url"/)
    t.equal(await post(JSON.parse(host.stdout).url), 200)
    const command = startApp(t, ['migrate-data', '--to', url, '--json', '--dir', directory])
    t.equal(await host.ended, 'SIGKILL')
    t.equal(await command.ended, hasMoved ? 0 : 1)
    t.match(JSON.parse(command.stdout), hasMoved ? { moved: true } : { error: { code: 'move-interrupted' } })
    t.equal((await readConfig(directory)).database === url, hasMoved)
    const again = await runningHost(t, directory)
    const { notes } = (await get(again, '/note')).body
    t.equal(notes.length, hasMoved ? 5 : 4)
    await again.close()
    t.equal(await moved(), notes.length)
  }
})

t.test(
  'after a kill at any moment, the application is as before or moved, and the command starts over',
  { skip },
  async (t) => {
    const { directory, url, execute, schema, moved, move } = await notes(t, 20)
    const config = join(directory, 'app.config.json')
    const original = await readFile(config, 'utf8')
    let rows = 20
    const stride = 16
    for (const running of [true, false]) {
      let ended: unknown = 'SIGKILL'
      for (let moment = 1 + randomInt(stride); ended === 'SIGKILL'; moment += stride) {
        const host = running ? await runningHost(t, directory) : undefined
        const argv = ['migrate-data', '--to', url, '--dir', directory]
        const [kill, at] = moment % 3 === 0 ? [killBefore, Math.ceil(moment / 20)] : [killBeforeQuery, moment]
        ended = await startApp(t, argv, kill(at)).ended
        const hasMoved = (await readConfig(directory)).database === url
        if (ended === 0) t.ok(hasMoved)
        if (host && !hasMoved) {
          while ((await post(host.url)) !== 200) await new Promise((resolve) => setTimeout(resolve, 5))
          rows += 1
        }
        if (host && hasMoved) t.equal(await post(host.url), 503)
        await host?.close()
        const again = await runningHost(t, directory)
        t.equal((await get(again, '/note')).body.notes.length, rows, `${kill.name} ${at}`)
        t.equal(await post(again.url), 200)
        rows += 1
        await again.close()
        if (!hasMoved) continue
        t.equal(await moved(), rows)
        // Back to the file, as it was when it moved, for the next moment.
        await execute(`DROP SCHEMA ${schema} CASCADE`)
        await writeFile(config, original)
        await removeDatabaseIdentity(directory)
        rows -= 1
      }
    }
    t.match(await move(), { exitCode: 0 })
    t.equal(await moved(), rows)
  },
)
