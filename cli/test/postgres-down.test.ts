import { join } from 'node:path'
import t from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { startProxy } from '../../packages/storage/test/postgres/proxy.ts'
import { useDatabase } from './postgres-schema.ts'
import { testApplication } from './run-app.ts'
import { databaseUrl, skipPostgres, usePostgres } from './test-on-engines.ts'

t.test(
  'while PostgreSQL is down, each command names PostgreSQL and nothing else',
  { skip: skipPostgres },
  async (t) => {
    const { directory, root, run } = await testApplication(t)
    await usePostgres(t, directory)
    const server = await startProxy(t, await databaseUrl(directory))
    await useDatabase(directory, server.url)
    const [first, second] = await Promise.all(
      ['1.0.0', '1.1.0'].map((version) =>
        sampleTarball(join(root, `memo-${version}.tgz`), {
          id: 'memo',
          version,
          manifest: { tables: 'memo', migrations: 'migrations' },
          files: {
            'migrations/001-memo.sql': 'CREATE TABLE memo (id TEXT PRIMARY KEY)',
            'migrations/001-memo.down.sql': 'DROP TABLE memo',
          },
        }),
      ),
    )
    t.match(await run('module-install', '--yes', first as string), { exitCode: 0 })
    await server.cut()
    const commands = [
      ['module-install', '--yes', second as string],
      ['module-remove', 'memo', '--purge', '--yes'],
      ['module-rollback', '--yes'],
      ['backup', join(root, 'backup.tgz')],
      ['audit'],
      ['start'],
    ]
    for (const command of commands) {
      const { exitCode, json } = await run(...command)
      t.match({ exitCode, ...json.error }, { exitCode: 1, code: 'database-unreachable' }, command.join(' '))
      t.match(json.error.message, /PostgreSQL/)
      t.notMatch(JSON.stringify(json.error), /SQLite|app\.db|lock file|not found/, command.join(' '))
    }
    const { json } = await run('doctor')
    t.match(json.findings, [{ id: /database/, severity: 'error' }])
    t.equal(json.findings.length, 1, JSON.stringify(json.findings))
    t.match(await run('module-list'), { exitCode: 0 }, 'what needs no database works')
  },
)
