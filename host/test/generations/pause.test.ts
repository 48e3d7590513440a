import { setTimeout } from 'node:timers/promises'
import { type Decision, decide, type LockedModule, readLockFile, writeLockFile } from '@mortise/application'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { temporarySchema } from '../../../packages/storage/test/engines.ts'
import { Application } from '../../src/application.ts'

/** Counts what its handler, its jobs, its schedule and its contract have done. */
const shelf: FixtureModule = {
  manifest: {
    id: 'shelf',
    routes: ['GET /shelf', 'POST /shelf', 'GET /shelf/slow'],
    tables: 'shelf',
    migrations: 'migrations',
    listensTo: ['desk.used'],
    provides: { shelf: '1.0.0' },
  },
  files: {
    'index.js': `
      import { many, run, sql } from '@mortise/module-sdk'
      const note = (what) => run(sql\`INSERT INTO shelf (what) VALUES (\${what})\`)
      export default async (app, { database, contracts, on, work }) => {
        const jobs = work('lift', {}, async () => { await database.transaction(() => note('job')) })
        work('dust', { schedule: '* * * * * *' }, async () => { await database.transaction(() => note('schedule')) })
        on('desk.used', function* () { yield* note('handler') })
        contracts.provide('shelf', '1.0.0', {
          *take() {
            yield* note('contract')
            yield* jobs.add({})
          },
          *counts() {
            const rows = yield* many(sql\`SELECT what, count(*) AS n FROM shelf GROUP BY what\`)
            return Object.fromEntries(rows.map(({ what, n }) => [what, Number(n)]))
          },
        })
        app.get('/shelf', { config: { access: 'public' } }, async () => ({ free: true }))
        app.post('/shelf', { config: { access: 'caller' } }, async () => ({}))
        app.get('/shelf/slow', { config: { access: 'public' } }, async () => {
          globalThis.slowShelf.begun()
          await globalThis.slowShelf.ended
          return { late: true }
        })
      }`,
    'migrations/001-shelf.sql': 'CREATE TABLE shelf (what TEXT NOT NULL)',
  },
}

/** Uses the contract, and emits an event, with each request. */
const desk: FixtureModule = {
  manifest: {
    id: 'desk',
    routes: ['GET /desk', 'POST /desk'],
    events: ['desk.used'],
    requires: { shelf: '^1.0.0' },
  },
  files: {
    'index.js': `
      import { respond, defineModule } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      const { emit, plugin } = defineModule('desk', { events: { 'desk.used': Type.Object({}) } })
      export default plugin(async (app, { contracts, database }) => {
        const shelf = contracts.required('shelf')
        app.get('/desk', { config: { access: 'public' } }, () => database.snapshot(() => shelf.counts()))
        app.post('/desk', { config: { access: 'public' } }, (request) =>
          request.transaction(function* () {
            yield* shelf.take()
            yield* emit('desk.used', { subject: 'desk', data: {} })
            return respond(200, {})
          }))
      })`,
  },
}

/** Counts the runs of its schedule, which is that of the shelf. */
const clock: FixtureModule = {
  manifest: { id: 'clock', routes: ['GET /clock'] },
  files: {
    'index.js': `
      let runs = 0
      export default async (app, { work }) => {
        work('tick', { schedule: '* * * * * *' }, async () => { runs += 1 })
        app.get('/clock', { config: { access: 'public' } }, async () => ({ runs }))
      }`,
  },
}

async function decideIn(directory: string, id: string, decision: Decision): Promise<void> {
  const lock = await readLockFile(directory)
  const modules = { ...lock.modules, [id]: decide(lock.modules[id] as LockedModule, decision) }
  await writeLockFile(directory, { ...lock, generation: lock.generation + 1, modules })
}

const after = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()

async function started(t: Test, directory: string) {
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(application.url + path, { method })
    const { status, headers } = response
    // biome-ignore lint/suspicious/noExplicitAny: whatever the route returns
    return { status, retryAfter: Number(headers.get('retry-after')), body: (await response.json()) as any }
  }
  return {
    application,
    ask,
    state: (id: string) => application.state().modules.find((module) => module.id === id),
    async change(id: string, decision: Decision) {
      await decideIn(directory, id, decision)
      await application.installed.activate({ probed: true })
    },
    /** Resolves when the module serves. */
    async serves(path: string) {
      while ((await ask(path)).status !== 200) await setTimeout(20)
    },
  }
}

const refused = { status: 503, body: { type: 'urn:problem-type:host:module-paused', code: 'module-paused' } }

t.test('the routes of a paused module are 503, and the others serve', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, shelf, desk, oneRoute('note', ''))
  const { ask, change, state, serves } = await started(t, directory)
  await change('shelf', { state: 'paused' })
  t.match(await ask('/shelf'), { ...refused, retryAfter: 60 })
  t.match(await ask('/shelf', 'POST'), refused, 'before anyone asks who calls')
  t.match(await ask('/shelf', 'PUT'), { status: 405 })
  t.match(await ask('/note'), { status: 200 })
  t.match(await ask('/desk', 'POST'), { status: 200 })
  t.strictSame(state('shelf'), { id: 'shelf', version: '1.0.0', state: 'paused' })
  const { modules } = (await ask('/')).body
  t.match(
    modules.find(({ id }: { id: string }) => id === 'shelf'),
    { state: 'paused' },
  )
  t.ok((await ask('/openapi.json')).body.paths['/shelf'], 'the document keeps its routes')

  const until = after(1_500)
  await change('shelf', { state: 'paused', until })
  const { retryAfter } = await ask('/shelf')
  t.ok(retryAfter === 1 || retryAfter === 2, `Retry-After: ${retryAfter}`)
  t.strictSame(state('shelf')?.until, until)
  await serves('/shelf')
  t.ok(new Date().toISOString() >= until)
  t.match(state('shelf'), { state: 'active' })
})

t.test('a request in progress ends, whatever begins meanwhile', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, shelf)
  const { ask, change } = await started(t, directory)
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  Object.assign(globalThis, { slowShelf: { begun: begun.resolve, ended: ended.promise } })
  const slow = ask('/shelf/slow')
  await begun.promise
  await change('shelf', { state: 'paused' })
  t.match(await ask('/shelf/slow'), refused)
  ended.resolve()
  t.match(await slow, { status: 200, body: { late: true } })
})

t.test('a pause survives a restart, and ends while no host runs', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', ''))
  await decideIn(directory, 'note', { state: 'paused', until: after(3_600_000) })
  const first = await started(t, directory)
  t.match(await first.ask('/note'), refused)
  await first.application.close()
  await decideIn(directory, 'note', { state: 'paused', until: after(-1) })
  const second = await started(t, directory)
  t.match(await second.ask('/note'), { status: 200 })
  t.match(second.state('note'), { state: 'active' })
})

t.test('a failed module stays failed when the pause of another one ends', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', ''), {
    manifest: { id: 'bad', routes: ['GET /bad'] },
    files: { 'index.js': 'throw new Error("no luck")' },
  })
  await decideIn(directory, 'note', { state: 'paused', until: after(500) })
  const { serves, ask } = await started(t, directory)
  await serves('/note')
  t.match(await ask('/bad'), { status: 503, body: { code: 'module-unavailable' } })
})

async function workWaits(t: Test, database: object = {}) {
  const directory = await applicationFolder(t, database)
  await install(t, directory, clock, shelf, desk)
  // On a host that never served it: nothing is lost either.
  await decideIn(directory, 'shelf', { state: 'paused' })
  const { application, ask, change } = await started(t, directory)
  const counts = async () => (await ask('/desk')).body
  const ticks = async (more: number) => {
    const { runs } = (await ask('/clock')).body
    while ((await ask('/clock')).body.runs < runs + more) await setTimeout(20)
  }
  for (const _ of [1, 2]) t.match(await ask('/desk', 'POST'), { status: 200 })
  await ticks(2)
  t.strictSame(await counts(), { contract: 2 })

  await change('shelf', { state: 'active' })
  for (
    let now = await counts();
    !(now.job >= 2 && now.handler >= 2 && now.schedule >= 1);
    now = await counts()
  )
    await setTimeout(20)
  t.match(await counts(), { contract: 2, job: 2, handler: 2 })

  await change('shelf', { state: 'paused' })
  await application.installed.retired()
  const before = await counts()
  t.match(await ask('/desk', 'POST'), { status: 200 })
  await ticks(2)
  t.strictSame(await counts(), { ...before, contract: 3 })
  await change('shelf', { state: 'active' })
  while ((await counts()).handler < 3 || (await counts()).job < 3) await setTimeout(20)
  t.match(await counts(), { contract: 3, job: 3, handler: 3 })
}

t.test('the work of a paused module waits, and its contracts go on (sqlite)', (t) => workWaits(t))

const skip = !process.env.APP_TEST_DATABASE_URL && 'APP_TEST_DATABASE_URL names no PostgreSQL: run npm test'

t.test('the same on PostgreSQL', { skip }, async (t) =>
  workWaits(t, { database: (await temporarySchema(t)).url }),
)

t.test('hosts on one database end a pause at the same time', { skip }, async (t) => {
  const { url: database } = await temporarySchema(t)
  const hosts = []
  for (let count = 0; count < 2; count += 1) {
    const directory = await applicationFolder(t, { database })
    await install(t, directory, oneRoute('note', ''))
    hosts.push(await started(t, directory))
  }
  const until = after(3_000)
  await Promise.all(hosts.map(({ change }) => change('note', { state: 'paused', until })))
  for (const { ask } of hosts) t.match(await ask('/note'), refused)
  await Promise.all(hosts.map(({ serves }) => serves('/note')))
  t.ok(new Date().toISOString() >= until)
})
