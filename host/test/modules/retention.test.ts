import type { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  databaseAddress,
  readConfig,
  readLockFile,
  storeDirectory,
  writeLockFile,
} from '@mortise/application'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import t, { type Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
} from '../../../packages/application/test/application-folder.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import { openStorage } from '../../src/events/event-log.ts'
import { InstalledModules } from '../../src/generations/installed-modules.ts'
import { loadedPackages } from '../../src/modules/load-plugin.ts'
import { OpenTelemetry } from '../../src/telemetry/open-telemetry.ts'

// What a process keeps of generations that are over.

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A module with a schema, a query and a hook; it counts how often its code is loaded. */
const note = (version: string): FixtureModule => ({
  version,
  manifest: { id: 'note', routes: ['GET /note'], tables: 'note', migrations: 'migrations' },
  files: {
    'migrations/001-note.sql': 'CREATE TABLE note (n INTEGER);',
    'migrations/001-note.down.sql': 'DROP TABLE note;',
    'index.js': `import { defineModule, sql } from '@mortise/module-sdk'
      import { Type } from '@sinclair/typebox'
      globalThis.noteLoads = (globalThis.noteLoads ?? 0) + 1
      const Rows = Type.Object({ rows: Type.Integer() }, { title: 'Rows' })
      export default defineModule('note').plugin(async (app, { database }) => {
        app.addHook('onRequest', async (request) => { request.log.debug('asked') })
        app.get('/note', { config: { access: 'public' }, schema: { response: { 200: Rows } } }, () =>
          database.one(sql\`SELECT count(*) AS rows FROM note\`))
      })`,
  },
  packageJson: { peerDependencies: { '@mortise/module-sdk': '*', '@sinclair/typebox': '*' } },
})

async function serving(t: Test, collector?: string) {
  const directory = await applicationFolder(t)
  await install(t, directory, note('1.0.0'))
  const config = await readConfig(directory, {})
  const storage = await openStorage({ ...databaseAddress(config), onFatal: t.fail })
  const logger = pino({ level: 'silent' })
  const tokens = createTokenVerifier({ issuers: [] })
  const tracing = collector === undefined ? undefined : new OpenTelemetry(collector, config, logger)
  const installed = await InstalledModules.start({
    config,
    storage,
    logger,
    tokens,
    tracing,
    notReady: () => undefined,
  })
  t.teardown(async () => {
    await installed.close()
    await tracing?.close()
    await storage.close()
  })
  const enable = async (enabled: boolean) => {
    const lock = await readLockFile(directory)
    const modules = Object.fromEntries(
      Object.entries(lock.modules).map(([id, locked]) => [id, { ...locked, enabled }]),
    )
    await writeLockFile(directory, { ...lock, generation: lock.generation + 1, modules })
    await installed.activate({ probed: true })
  }
  const ask = async () => (await installed.app.inject('/note')).statusCode
  return { directory, installed, logger, enable, ask }
}

t.test('a package that is disabled and enabled is not loaded again', async (t) => {
  const loads = globalThis as { noteLoads?: number }
  const { directory, enable, ask } = await serving(t)
  const before = loads.noteLoads
  t.equal(await ask(), 200)
  for (let round = 0; round < 3; round++) {
    await enable(false)
    t.equal(await ask(), 404)
    await enable(true)
    t.equal(await ask(), 200)
  }
  t.equal(loads.noteLoads, before)
  t.equal(loadedPackages(storeDirectory(directory)), 1)

  await install(t, directory, note('1.0.1'))
  await enable(true)
  t.equal(await ask(), 200)
  t.equal(loads.noteLoads, (before as number) + 1)
  t.equal(loadedPackages(storeDirectory(directory)), 2)
})

for (const [how, collector] of [
  ['', undefined],
  [', traced', 'http://127.0.0.1:9'],
] as const) {
  t.test(`previous generations leave neither instances nor listeners${how}`, async (t) => {
    const { directory, installed, logger, enable, ask } = await serving(t, collector)
    const emitters = [process, logger as unknown as EventEmitter]
    const listeners = () =>
      emitters.map((emitter) => emitter.eventNames().map((name) => [name, emitter.listenerCount(name)]))
    const before = listeners()
    const previous: WeakRef<FastifyInstance>[] = []
    for (let round = 0; round < 6; round++) {
      previous.push(new WeakRef(installed.app))
      if (round % 2 === 0) await enable(round % 4 !== 0)
      else {
        await install(t, directory, note(`1.1.${round}`))
        await enable(true)
      }
      await ask()
    }
    await installed.retired()
    const alive = () => previous.filter((instance) => instance.deref() !== undefined).length
    for (let round = 0; round < 10 && alive() > 0; round++) {
      await nextTurn()
      collectGarbage()
    }
    t.equal(alive(), 0, 'every previous Fastify instance was collected')
    t.same(listeners(), before)
  })
}
