import { readConfig } from '@mortise/application'
import t, { type Test } from 'tap'
import { type ProbeOptions, probe } from '../../src/generations/run-probe.ts'
import '../built-children.ts'
import {
  applicationFolder,
  type FixtureModule,
  modulePackage,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'

async function probeAll(t: Test, modules: FixtureModule[], options: ProbeOptions = {}) {
  const config = await readConfig(await applicationFolder(t), {})
  const probed = []
  for (const module of modules)
    probed.push({ id: module.manifest.id, directory: await modulePackage(t, module) })
  return probe(config, probed, options)
}

/** A module that reads a column, with the migrations that are given. */
const reading = (column: string, version: string, ...migrations: string[]): FixtureModule => ({
  version,
  manifest: { id: 'note', tables: 'note', migrations: 'migrations', routes: ['GET /note', 'GET /note/all'] },
  files: {
    'index.js': `import { sql } from '@mortise/module-sdk'
      export default async (app, { database }) => {
        app.get('/note', { config: { access: 'public' } }, async () => ({}))
        app.get('/note/all', { config: { access: 'note:read' } }, async () => ({ data: await database.many(sql\`SELECT ${column} FROM note\`) }))
      }`,
    ...Object.fromEntries(migrations.map((text, index) => [`migrations/00${index + 1}-note.sql`, text])),
  },
})
const made = 'CREATE TABLE note (body TEXT)'
const renamed = 'ALTER TABLE note RENAME COLUMN body TO text'

t.test('the probe reports the OpenAPI document and the access of each route', async (t) => {
  const { document, access } = await probeAll(t, [reading('body', '1.0.0', made), oneRoute('one', '1')])
  t.match(document.paths, { '/note/all': { get: { tags: ['note'] } }, '/one': {} })
  t.strictSame(access, {
    note: { 'GET /note': 'public', 'GET /note/all': 'note:read' },
    one: { 'GET /one': 'public' },
  })
})

t.test('the probe calls GET routes on request, also those that need a scope', async (t) => {
  const bad = reading('text', '1.0.0', made)
  await probeAll(t, [bad])
  await t.rejects(probeAll(t, [bad], { ask: ['note'] }), {
    module: 'note',
    message:
      /GET \/note\/all responds with 500 .* no such column: text.* SELECT text FROM note \(index\.js:4\)/,
  })
  const exits =
    "export default async (app) => { app.get('/bad', { config: { access: 'public' } }, () => process.exit(3)) }"
  await t.rejects(
    probeAll(t, [{ manifest: { id: 'bad', routes: ['GET /bad'] }, files: { 'index.js': exits } }], {
      ask: ['bad'],
    }),
    {
      module: 'bad',
      message: /exit code 3 while it was responding/,
    },
  )
})

t.test('a database can start with the schema of another one', async (t) => {
  const schema = { statements: ['CREATE TABLE note_odd (id TEXT)'], ledger: [] }
  const next = reading('id', '1.0.0', 'ALTER TABLE note_odd RENAME TO note')
  await t.rejects(probeAll(t, [next], { schema }), /no such table: note_odd/, 'it has to run alone as well')
  await probeAll(t, [reading('body', '1.0.0', made)], { schema })
  const taken = { statements: ['CREATE TABLE note (id TEXT)'], ledger: [] }
  await t.rejects(probeAll(t, [reading('body', '1.0.0', made)], { schema: taken }), /already exists/)
})

t.test(
  'a module that fails once another version has migrated is unfit, unless it failed before',
  async (t) => {
    const upgrade = async (next: FixtureModule) => [{ id: 'note', directory: await modulePackage(t, next) }]
    const previous = reading('body', '1.0.0', made)
    const ask = ['note']
    const breaking = await upgrade(reading('text', '2.0.0', made, renamed))
    t.match((await probeAll(t, [previous], { ask, upgrades: breaking })).unfit, {
      module: 'note',
      message: /GET \/note\/all responds with 500 .* no such column: body/,
    })
    const adding = await upgrade(reading('more', '2.0.0', made, 'ALTER TABLE note ADD COLUMN more TEXT'))
    t.equal((await probeAll(t, [previous], { ask, upgrades: adding })).unfit, undefined)
    const same = await upgrade(reading('body', '2.0.0', made))
    t.equal((await probeAll(t, [previous], { ask, upgrades: same })).unfit, undefined)
    const hanging = previous.files['index.js']?.replace(
      '=> {',
      "=> { app.addHook('onClose', () => new Promise(() => {}))",
    )
    const lasting = { ...previous, files: { ...previous.files, 'index.js': hanging ?? '' } }
    t.equal(
      (await probeAll(t, [lasting], { ask, upgrades: adding })).unfit,
      undefined,
      'hangs when it is closed',
    )
    const broken = reading('nothing', '1.0.0', made)
    t.equal((await probeAll(t, [broken], { ask, upgrades: breaking })).unfit, undefined)
  },
)

t.test(
  'one that ends the process then is unfit too, and none of the other version’s code has run',
  async (t) => {
    const previous = reading('body', '1.0.0', made)
    const index = previous.files['index.js'] ?? ''
    const files = {
      ...previous.files,
      'index.js': index.replace(
        /await database\.many\((.*)\) \}\)/,
        'await database.many($1).catch(() => process.exit(7)) })',
      ),
    }
    const next = reading('text', '2.0.0', made, renamed)
    const directory = await modulePackage(t, {
      ...next,
      files: { ...next.files, 'index.js': 'process.exit(1)' },
    })
    const { unfit } = await probeAll(t, [{ ...previous, files }], {
      ask: ['note'],
      upgrades: [{ id: 'note', directory }],
    })
    t.match(unfit, { module: 'note', message: /exit code 7 while it was responding/ })
  },
)
