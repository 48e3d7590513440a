import { databaseAddress, readConfig, readLockFile } from '@mortise/application'
import pino from 'pino'
import t from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { InstalledModules } from '../../src/generations/installed-modules.ts'
import { ownMigrations } from '../modules/own-migrations.ts'

const withTable: FixtureModule = {
  manifest: { id: 'tally', tables: 'tally', migrations: 'migrations' },
  files: {
    'index.js': 'export default async () => {}',
    'migrations/001-tally.sql': 'CREATE TABLE tally (n INTEGER);',
    'migrations/001-tally.down.sql': 'DROP TABLE tally;',
  },
}

t.test('a start and every switch is one line with generation, modules and migrations', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', ''), {
    manifest: { id: 'bad' },
    files: { 'index.js': 'throw new Error("no luck")' },
  })
  const config = await readConfig(directory, {})
  const storage = await openStorage({ ...databaseAddress(config), onFatal: t.fail })
  const lines: Record<string, unknown>[] = []
  const installed = await InstalledModules.start({
    config,
    storage,
    logger: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) }),
    tokens: createTokenVerifier({ issuers: [] }),
    notReady: () => undefined,
  })
  t.teardown(async () => {
    await installed.close()
    await storage.close()
  })
  const news = () => lines.splice(0).filter(({ level }) => level === 30)
  const modules = ['note@1.0.0', 'bad@1.0.0 (failed)']
  t.match(news(), [
    {
      generation: 1,
      modules,
      migrations: ownMigrations.map((name) => `host/${name}`),
      msg: 'generation 1 serves',
    },
  ])

  await install(t, directory, withTable)
  await installed.migrate((await readLockFile(directory)).modules)
  await installed.activate({ probed: true })
  const [line, ...more] = news()
  t.match(line, { generation: 2, migrations: ['tally/001-tally'] })
  t.ok(String(line?.modules).includes('tally@1.0.0'))
  t.same(more, [])

  await installed.activate({ probed: true })
  t.same(news(), [], 'nothing has changed')
  await install(t, directory, oneRoute('note', 'new', '1.0.1'))
  await installed.activate({ probed: true })
  t.match(news(), [{ generation: 3, migrations: [] }])
})
