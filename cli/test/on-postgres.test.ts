import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { testApplication } from './run-app.ts'
import { runningHost } from './running-host.ts'
import { skipPostgres, usePostgres } from './test-on-engines.ts'

t.test('a module works on PostgreSQL like on SQLite', { skip: skipPostgres }, async (t) => {
  const { directory, root, run } = await testApplication(t)
  await usePostgres(t, directory)
  const [first, second] = [await visit(root, '1.0.0'), await visit(root, '2.0.0')]
  const { url } = await runningHost(t, directory)
  const post = async () => {
    const response = await fetch(`${url}/visit`, { method: 'POST' })
    return { status: response.status, body: await response.json() }
  }

  t.match(await run('module-install', '--yes', first), { exitCode: 0, json: { live: true } })
  t.match(await post(), { status: 201, body: { visits: 1 } })
  t.match(await run('module-install', '--yes', second), {
    exitCode: 0,
    json: { migrations: ['visit/002-place'] },
  })
  t.match(await post(), { status: 201, body: { visits: 2, places: 1 } })
  t.match(await run('doctor'), { exitCode: 0 })
  t.match(await run('module-rollback'), { exitCode: 0 })
  t.same(await post(), { status: 201, body: { visits: 3 } })
  t.match(await run('module-remove', 'visit'), { exitCode: 0, json: { removed: ['visit'] } })
  t.match(await post(), { status: 404 })
  t.match(await run('module-install', '--yes', first), { exitCode: 0 })
  t.match(await post(), { status: 201, body: { visits: 4 } }, 'its data have stayed')
})

/** A module that counts its visits; version 2 has another column, made with each engine's own words. */
function visit(root: string, version: '1.0.0' | '2.0.0'): Promise<string> {
  const more = version === '2.0.0'
  return sampleTarball(join(root, `visit-${version}.tgz`), {
    id: 'visit',
    version,
    manifest: { routes: ['GET /visit', 'POST /visit'], tables: 'visit', migrations: 'migrations' },
    files: {
      'migrations/001-visit.sql': 'CREATE TABLE visit (id TEXT PRIMARY KEY)',
      'migrations/001-visit.down.sql': 'DROP TABLE visit',
      ...(more && {
        'migrations/002-place.sqlite.sql': 'ALTER TABLE visit ADD COLUMN place TEXT',
        'migrations/002-place.postgres.sql': 'ALTER TABLE visit ADD COLUMN IF NOT EXISTS place TEXT',
        'migrations/002-place.sqlite.down.sql': 'ALTER TABLE visit DROP COLUMN place',
        'migrations/002-place.postgres.down.sql': 'ALTER TABLE visit DROP COLUMN place',
      }),
    },
    main: `import { respond, defineModule, newId, one, run, sql } from '@mortise/module-sdk'
export default defineModule('visit').plugin(async (app, { database }) => {
  const config = { access: 'public' }
  const counted = sql\`SELECT count(*) AS visits${more ? ', count(place) AS places' : ''} FROM visit\`
  app.get('/visit', { config }, async () => database.one(counted))
  app.post('/visit', { config }, (request) => request.transaction(function* () {
    yield* run(sql\`INSERT INTO visit (id${more ? ', place' : ''}) VALUES (\${newId('visit')}${more ? ", 'here'" : ''})\`)
    return respond(201, yield* one(counted))
  }))
})
`,
  })
}
