import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { readConfig, readLockFile, writeLockFile } from '@mortise/application'
import { sql } from '@mortise/module-sdk'
import pino from 'pino'
import type { Test } from 'tap'
import {
  applicationFolder,
  type FixtureModule,
  install,
  uninstall,
} from '../../../packages/application/test/application-folder.ts'
import { createTokenVerifier } from '../../src/callers/token-verifier.ts'
import { InstalledModules } from '../../src/generations/installed-modules.ts'
import { type Open, testOnEngines } from '../engines.ts'
import { bearer, issuer, secret } from './test-app.ts'

const note: FixtureModule = {
  manifest: { id: 'note', routes: ['POST /note'], tables: 'note', migrations: 'migrations' },
  files: {
    'index.js': `import { respond, defineModule, run, sql } from '@mortise/module-sdk'
      export default defineModule('note').plugin(async (app, { onClaim }) => {
        app.post('/note', { config: { access: 'caller' } }, (request) =>
          request.transaction(function* () {
            yield* run(sql\`INSERT INTO note (owner) VALUES (\${request.caller.id})\`)
            return respond(201, {})
          }))
        onClaim(function* ({ guest, user }) {
          yield* run(sql\`UPDATE note SET owner = \${user} WHERE owner = \${guest}\`)
        })
      })`,
    'migrations/001-note.sql': 'CREATE TABLE note (owner TEXT NOT NULL);',
    'migrations/001-note.down.sql': 'DROP TABLE note;',
  },
}

/** A running application with the module `note`, and a guest who has written one. */
async function application(t: Test, open: Open) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const directory = await applicationFolder(t)
  await install(t, directory, note)
  const storage = await open()
  const installed = await InstalledModules.start({
    config: await readConfig(directory, {}),
    storage,
    logger: pino({ level: 'silent' }),
    tokens: createTokenVerifier({ issuers: [{ issuer, secret }] }),
    notReady: () => undefined,
  })
  t.teardown(() => installed.close())
  const post = async (url: string, headers: Record<string, string> = {}) =>
    installed.app.inject({ method: 'POST', url, headers })
  const token = (await post('/note')).headers['guest-token'] as string
  const authorization = await bearer('ann')
  const activate = async () => {
    await installed.migrate((await readLockFile(directory)).modules)
    await installed.activate({ probed: true })
    await installed.retired()
  }
  return {
    claim: async () => (await post('/guest/claim', { authorization, 'guest-token': token })).statusCode,
    owners: async () =>
      (await storage.many<{ owner: string }>(sql`SELECT owner FROM note`)).map(({ owner }) => owner),
    waiting: () => storage.many(sql`SELECT module FROM mortise_claim`),
    async enable(enabled: boolean) {
      const lock = await readLockFile(directory)
      const modules = { note: { ...lock.modules.note, enabled } } as typeof lock.modules
      await writeLockFile(directory, { ...lock, generation: lock.generation + 1, modules })
      await activate()
    },
    async remove() {
      await uninstall(directory, 'note')
      await activate()
    },
    async install() {
      await install(t, directory, note)
      await activate()
    },
  }
}

const ANN = 'user:urn%3Atest%3Aapplication:ann'

testOnEngines('a claim reaches a serving module at once', async (t, open) => {
  const { claim, owners, waiting } = await application(t, open)
  t.equal(await claim(), 200)
  t.same(await owners(), [ANN])
  t.same(await waiting(), [])
})

for (const how of ['disabled', 'removed']) {
  testOnEngines(
    `what is claimed while its module is ${how} is handed over when it is back`,
    async (t, open) => {
      const { claim, owners, waiting, enable, remove, install } = await application(t, open)
      await (how === 'removed' ? remove() : enable(false))
      t.equal(await claim(), 200)
      t.equal(await claim(), 200)
      t.match(await owners(), [/^guest:/])
      t.same(await waiting(), [{ module: 'note' }])
      mock.timers.tick(60_000)
      await (how === 'removed' ? install() : enable(true))
      t.match(await owners(), [/^guest:/])
      mock.timers.tick(60_000)
      while ((await waiting()).length > 0) await setImmediate()
      t.same(await owners(), [ANN])
    },
  )
}
