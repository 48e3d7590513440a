import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseAddress, moduleSettings, readNewPackage, tokenIssuers } from '@mortise/application'
import {
  EventLog,
  hostMigrations,
  inContractOrder,
  loadPlugin,
  moduleMigrations,
  openStorage,
} from '@mortise/host'
import { createHost, createLogger, createTokenVerifier, linesForPeople } from '@mortise/host/serving'
import type { CommandResult, CommandStreams, Event, ModulePlugin } from '@mortise/module-sdk'
import { rememberPlaces } from '@mortise/module-sdk/unrun-steps'
import type { Storage } from '@mortise/storage'
import type { FastifyInstance } from 'fastify'
import { databaseOf } from './on-engines.ts'
import { temporarySchema } from './temporary-schema.ts'
import { TestCaller } from './test-caller.ts'
import { testConfig } from './test-config.ts'

/** A test of `node:test`, tap or a similar runner. The host closes when the test ends. */
export type OwningTest =
  | { after(cleanUp: () => Promise<void>): unknown }
  | { teardown(cleanUp: () => Promise<void>): unknown }

export interface TestModule {
  /** The folder with the module's package.json, manifest, migrations and settings schema. */
  readonly directory: string
  /** The module's default export. The default is what the package in `directory` exports. */
  readonly plugin?: ModulePlugin
}

export interface TestHostOptions {
  readonly modules: readonly TestModule[]
  /**
   * The content of app.config.json: `{ basePath: '/api', modules: { 'api-cart': { … } } }`. The
   * host logs errors behind a 500 to stderr, unless this has `log: { level: 'silent' }`.
   */
  readonly config?: Readonly<Record<string, unknown>>
  /**
   * Runs every transaction twice and rolls the first back, to reveal side effects other than its
   * statements. The default is true. Turn it off for a test that counts or measures.
   */
  readonly rehearse?: boolean
  /** Runs `app` for a module that operates the application; without it every command fails. */
  readonly command?: (argv: readonly string[], streams?: CommandStreams) => Promise<CommandResult>
  /** Where the host says that it listens, for such a module. The default is loopback. */
  readonly url?: string
}

/** A real host with its own real database. It serves `inject`, without a socket. */
export interface TestHost {
  readonly app: Awaited<ReturnType<typeof createHost>>
  readonly database: Storage
  /** All events so far, in order. */
  events(): Promise<Event[]>
  /** A signed-in user, with scopes such as `purchase:read purchase:manage`. */
  user(subject: string, scope?: string): TestCaller
  /** A new guest, who keeps the token from the host. */
  guest(): TestCaller
  /**
   * Resolves when the event handlers have processed every event. A failed event is retried later
   * and does not delay this.
   */
  reacted(): Promise<void>
}

/**
 * Creates a host that serves `modules` until the test `t` ends. It uses a SQLite file, unless
 * `onEngines` chose another engine.
 */
export async function createTestHost(t: OwningTest, options: TestHostOptions): Promise<TestHost> {
  const directory = await mkdtemp(join(tmpdir(), 'mortise-test-'))
  const server = databaseOf(t)
  const place = server === undefined ? undefined : temporarySchema(server)
  const config = await testConfig(directory, { ...options.config, ...(place && { database: place.url }) })
  const database = await openStorage({
    ...databaseAddress(config),
    rehearse: options.rehearse ?? true,
    durable: false,
  })
  if (options.rehearse ?? true) rememberPlaces()
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

  const packages = await Promise.all(options.modules.map(({ directory }) => readNewPackage(directory)))
  await database.migrate([hostMigrations, ...moduleMigrations(packages)])
  const loading = () =>
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
    }))
  const modules = await withoutExit(() => Promise.all(loading()))
  app = await createHost({
    config,
    storage: database,
    logger,
    events,
    tokens: createTokenVerifier({ issuers: tokenIssuers(config) }),
    modules: inContractOrder(modules),
    strict: true,
    distinctOperations: true,
    ...(options.command && {
      operated: { run: options.command, url: () => options.url ?? 'http://127.0.0.1' },
    }),
  })
  events.wake()
  await app.react?.()
  const serving = app
  return {
    app,
    database,
    async events() {
      await database.sequenceOutbox()
      return (await events.read({ after: 0, limit: Number.MAX_SAFE_INTEGER })).events
    },
    user: (subject, scope) => TestCaller.user(serving, config, subject, scope),
    guest: () => TestCaller.guest(serving, config),
    reacted: async () => serving.reacted?.(),
  }
}

/** A module that ends the process would end the tests, and their runner would call that a success. */
async function withoutExit<Result>(work: () => Promise<Result>): Promise<Result> {
  const { exit } = process
  process.exit = () => {
    throw new Error('it ends the process while it loads')
  }
  try {
    return await work()
  } finally {
    process.exit = exit
  }
}

function cleanUpAfter(t: OwningTest, cleanUp: () => Promise<void>): void {
  // tap has both methods, and its `after` takes other hooks.
  if ('teardown' in t) t.teardown(cleanUp)
  else t.after(cleanUp)
}
