import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type Config,
  configFile,
  createHost,
  createLogger,
  createTokenVerifier,
  databaseAddress,
  EventLog,
  hostMigrations,
  inContractOrder,
  linesForPeople,
  loadPlugin,
  moduleMigrations,
  moduleSettings,
  openStorage,
  readConfig,
  readPackage,
  type Storage,
  secretFile,
  tokenIssuers,
} from '@mortise/host'
import type { Event, ModulePlugin } from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import { databaseOf } from './on-engines.ts'
import { temporarySchema } from './temporary-schema.ts'
import { TestCaller } from './test-caller.ts'

/** The test that a host belongs to, of `node:test`, tap or anything alike: the host goes away with it. */
export type OwningTest =
  | { after(cleanUp: () => Promise<void>): unknown }
  | { teardown(cleanUp: () => Promise<void>): unknown }

export interface TestModule {
  /** The folder of the module's package.json: manifest, migrations and settings schema are read from there. */
  readonly directory: string
  /** The module's default export; without it, what the package in `directory` exports. */
  readonly plugin?: ModulePlugin
}

export interface TestHostOptions {
  readonly modules: readonly TestModule[]
  /**
   * What app.config.json would hold: `{ basePath: '/api', modules: { 'api-cart': { … } } }`. Errors behind a 500 are
   * logged to stderr, unless it says `log: { level: 'silent' }`.
   */
  readonly config?: Readonly<Record<string, unknown>>
  /**
   * Whether every transaction runs twice, first undone, so that a side effect other than its statements shows.
   * On by default, and off where a test counts or measures.
   */
  readonly rehearse?: boolean
}

/** A real host, on a real database of its own, that serves `inject` without a socket. */
export interface TestHost {
  readonly app: FastifyInstance
  readonly database: Storage
  /** What was emitted until now, in order. */
  events(): Promise<Event[]>
  /** Somebody signed in, with scopes such as `purchase:read purchase:manage`. */
  user(subject: string, scope?: string): TestCaller
  /** A guest who is not known yet, and keeps the token that the host gives out. */
  guest(): TestCaller
  /** Resolves when the modules have reacted to every event that was emitted; where one has failed it is tried again later. */
  reacted(): Promise<void>
}

/** Makes a host that serves `modules` until the test `t` ends: on a SQLite file, unless `onEngines` says otherwise. */
export async function createTestHost(t: OwningTest, options: TestHostOptions): Promise<TestHost> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-test-'))
  const server = databaseOf(t)
  const place = server === undefined ? undefined : temporarySchema(server)
  const config = await testConfig(directory, { ...options.config, ...(place && { database: place.url }) })
  const database = await openStorage({
    ...databaseAddress(config),
    rehearse: options.rehearse ?? true,
    onFatal: (error) => {
      throw error
    },
  })
  const logger = createLogger(config.log, linesForPeople())
  const events = new EventLog(database, logger)
  let app: FastifyInstance | undefined
  cleanUpAfter(t, async () => {
    await app?.close()
    await events.close()
    await database.close()
    await place?.drop()
    await rm(directory, { recursive: true, force: true })
  })

  const packages = await Promise.all(options.modules.map(({ directory }) => readPackage(directory)))
  await database.migrate([hostMigrations, ...moduleMigrations(packages)])
  const modules = await Promise.all(
    packages.map(async ({ name, version, manifest, settingsSchema, directory }, index) => ({
      id: manifest.id,
      package: name,
      version,
      manifest,
      state: 'active' as const,
      directory,
      settings: moduleSettings(config, manifest.id, settingsSchema),
      plugin:
        options.modules[index]?.plugin ?? (await loadPlugin(manifest.id, directory, { confined: false })),
    })),
  )
  app = await createHost({
    config,
    storage: database,
    logger,
    events,
    tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
    modules: inContractOrder(modules),
    notReady: () => undefined,
  })
  events.wake()
  await app.react?.()
  const serving = app
  return {
    app,
    database,
    async events() {
      await database.sequenceOutbox()
      return events.read({ after: 0, limit: Number.MAX_SAFE_INTEGER })
    },
    user: (subject, scope) => TestCaller.user(serving, config, subject, scope),
    guest: () => TestCaller.guest(serving, config),
    reacted: async () => serving.reacted?.(),
  }
}

function cleanUpAfter(t: OwningTest, cleanUp: () => Promise<void>): void {
  // tap has both, and its `after` is for hooks of another kind.
  if ('teardown' in t) t.teardown(cleanUp)
  else t.after(cleanUp)
}

/** An application folder like `app init` makes it, read like the host reads it; the environment has no say. */
async function testConfig(directory: string, settings: TestHostOptions['config']): Promise<Config> {
  const defaults = { auth: { issuer: 'mortise-testkit' }, log: { level: 'error' } }
  await mkdir(dirname(secretFile(directory)), { recursive: true })
  await writeFile(secretFile(directory), 'a secret of 32 bytes, for tests only')
  await writeFile(configFile(directory), JSON.stringify({ ...defaults, ...settings }))
  return readConfig(directory, {})
}
