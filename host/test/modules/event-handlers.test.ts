import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  uninstall,
} from '../../../packages/application/test/application-folder.ts'
import { temporarySchema } from '../../../packages/storage/test/engines.ts'
import { Application } from '../../src/application.ts'

/** Emits a visit with each request. */
const door: FixtureModule = {
  manifest: { id: 'door', routes: ['POST /door'], events: ['door.opened'] },
  files: {
    'index.js': `
      import { respond, defineModule } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const { emit, plugin } = defineModule('door', {
        events: { 'door.opened': Type.Object({ by: Type.String() }) },
      })
      export default plugin(async (app) => {
        app.post('/door', { config: { access: 'public' } }, (request) =>
          request.transaction(function* () {
            yield* emit('door.opened', { subject: 'front', data: { by: 'ann' } })
            return respond(200, {})
          }))
      })`,
  },
}

/** Counts visits, and shows which of its versions has counted them. */
const tally = (version: string, on: string, listensTo = ['door.opened']): FixtureModule => ({
  version,
  manifest: { id: 'tally', routes: ['GET /tally'], tables: 'tally', migrations: 'migrations', listensTo },
  files: {
    'index.js': `
      import { run, sql } from '@mortise/module-sdk'
      export default async (app, { database, on }) => {
        const count = function* ({ type, source, data }) {
          yield* run(sql\`INSERT INTO tally (text) VALUES (\${\`\${type} of \${source} by \${data.by} in ${version}\`})\`)
        }
        ${on}
        app.get('/tally', { config: { access: 'public' } }, async () =>
          (await database.many(sql\`SELECT text FROM tally\`)).map(({ text }) => text))
      }`,
    'migrations/001-tally.sql': 'CREATE TABLE tally (text TEXT NOT NULL)',
  },
})

async function running(t: Test, database: object) {
  const directory = await applicationFolder(t, database)
  await install(t, directory, door, tally('1.0.0', `on('door.opened', count)`))
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const ask = async (path: string, method = 'GET') => (await fetch(application.url + path, { method })).json()
  return {
    directory,
    application,
    open: () => ask('/door', 'POST'),
    /** What was counted, once it is so many. */
    async tallied(count: number) {
      for (;;) {
        const texts = (await ask('/tally')) as string[]
        if (texts.length >= count) return texts
        await setTimeout(5)
      }
    },
  }
}

async function modulesReact(t: Test, database: object = {}) {
  const { directory, application, open, tallied } = await running(t, database)
  await open()
  t.strictSame(await tallied(1), ['door.opened of door by ann in 1.0.0'])

  await install(t, directory, tally('2.0.0', `on('*', count)`, ['*']))
  await application.installed.activate({ probed: true })
  await open()
  t.equal((await tallied(2))[1], 'door.opened of door by ann in 2.0.0')

  await uninstall(directory, 'tally')
  await application.installed.activate({ probed: true })
  await open()
  await install(t, directory, tally('3.0.0', `on('door.opened', count)`))
  await application.installed.activate({ probed: true })
  await open()
  t.strictSame((await tallied(4)).slice(2), Array(2).fill('door.opened of door by ann in 3.0.0'))

  const families = await application.metrics()
  t.match(
    families.filter(({ name }) => /events/.test(name)),
    [
      { name: 'mortise_events_behind', samples: [{ labels: { module: 'tally' }, value: 0 }] },
      { name: 'mortise_failed_events', samples: [{ value: 0 }, { labels: { state: 'dead' }, value: 0 }] },
    ],
  )
}

t.test(
  'a module reacts to what another emits, in every generation, and to what it was away for (sqlite)',
  (t) => modulesReact(t),
)

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('PostgreSQL behaves the same', { skip }, async (t) =>
  modulesReact(t, { database: (await temporarySchema(t)).url }),
)

t.test('a module whose event handlers differ from its manifest is refused', async (t) => {
  const { directory, application } = await running(t, {})
  const refused = async (on: string, listensTo: string[]) => {
    await install(t, directory, tally('2.0.0', on, listensTo))
    const error = await application.installed.activate({ probed: true }).catch((error) => error)
    await install(t, directory, tally('1.0.0', `on('door.opened', count)`))
    await application.installed.activate({ probed: true })
    return error.message
  }
  const own = ['door.opened']
  t.match(
    await refused(`on('door.shut', count)`, own),
    /handles "door.shut", which its manifest does not name/,
  )
  t.match(await refused('', own), /names door.opened in "listensTo", but it has no handler/)
  t.match(
    await refused(`on('door.opened', count)`, [...own, '*', 'door.shut']),
    /names door.shut in "listensTo"/,
  )
  t.match(
    await refused(`on('door.opened', count); on('door.opened', count)`, own),
    /has two handlers for "door.opened"/,
  )
  t.match(await refused(`on('door.opened', async () => {})`, own), /async function: write function\*/)
  t.equal(application.installed.modules.find(({ id }) => id === 'tally')?.state, 'active')
})

t.test(
  'a module listens for events from a request on, until it ends that or its generation is gone',
  async (t) => {
    const bell = (version: string): FixtureModule => ({
      version,
      manifest: { id: 'bell', routes: ['POST /bell', 'GET /bell'], listensTo: ['*'] },
      files: {
        'index.js': `
        const rung = globalThis.rung ??= { '1.0.0': 0, '2.0.0': 0, once: 0 }
        export default async (app, { events }) => {
          app.post('/bell', { config: { access: 'public' } }, async () => {
            events.onMore(() => { rung['${version}'] += 1 })
            const end = events.onMore(() => { rung.once += 1; end() })
            return {}
          })
          app.get('/bell', { config: { access: 'public' } }, async () => rung)
        }`,
      },
    })
    const { directory, application, open } = await running(t, {})
    const ask = async (method: string) =>
      (await fetch(`${application.url}/bell`, { method })).json() as Promise<Record<string, number>>
    /** Emits an event; resolves with how often each has rung, once `version` has. */
    const ring = async (version: string) => {
      const before = await ask('GET')
      await open()
      for (;;) {
        const now = await ask('GET')
        if (now[version] !== before[version]) return now
        await setTimeout(5)
      }
    }
    await install(t, directory, bell('1.0.0'))
    await application.installed.activate({ probed: true })
    await ask('POST')
    await ring('1.0.0')
    t.equal((await ring('1.0.0')).once, 1)

    await install(t, directory, bell('2.0.0'))
    await application.installed.activate({ probed: true })
    await ask('POST')
    // The generation before it may have a moment left.
    let rung = await ring('2.0.0')
    for (let before = -1; rung['1.0.0'] !== before; rung = await ring('2.0.0'))
      before = rung['1.0.0'] as number
    t.equal(rung.once, 2)
  },
)
