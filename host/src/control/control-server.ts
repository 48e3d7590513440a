import { DatabaseError } from '@mortise/module-sdk'
import { EngineError, MigrationError, StillNeededError, type Storage } from '@mortise/storage'
import { type Static, Type } from '@sinclair/typebox'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/settings.ts'
import { OperatorRecord } from '../events/audit-trail.ts'
import { discard, readReactions, replay } from '../events/failed-reactions.ts'
import { purgeData } from '../events/purge-data.ts'
import { readAudit } from '../events/read-audit.ts'
import type { InstalledModules } from '../generations/installed-modules.ts'
import { assertNobodyNeeds } from '../generations/roll-call.ts'
import type { ServingHost } from '../generations/serving-host.ts'
import type { Verdict } from '../generations/settling.ts'
import { type HostModule, ModuleError } from '../modules/host-module.ts'
import { type Lock, LockedModule } from '../modules/lock.ts'
import type { MetricFamily } from '../telemetry/metric-family.ts'
import { settlesWithin } from '../telemetry/settles-within.ts'
import { pendingSettings } from './pending-settings.ts'
import type { WriteHold } from './write-hold.ts'

/** What runs, for the `app` command. */
export interface ApplicationState {
  readonly pid: number
  /** The version of the host. */
  readonly host: string
  readonly url: string
  /** Of the database that it began with. */
  readonly engine: Storage['engine']
  readonly generation: number
  /** How often another generation has taken over since the start. */
  readonly switches: number
  /** Packages whose code was loaded since the start; that of replaced ones stays in memory until the end. */
  readonly loadedPackages: number
  readonly modules: readonly {
    readonly id: string
    readonly version: string
    readonly state: HostModule['state']
    readonly reason?: string
  }[]
  /** The processes that serve, where `pid` is their parent; absent where one serves alone. */
  readonly workers?: readonly { readonly pid: number; readonly host: string; readonly generation: number }[]
  /** Those that do not answer now; absent where all do. */
  readonly silentWorkers?: readonly number[]
}

const Undo = Type.Object({
  migrations: Type.Array(Type.Object({ module: Type.String(), name: Type.String() })),
})
const Backup = Type.Object({ file: Type.String() })
const Purge = Type.Object({ module: Type.String(), record: OperatorRecord })
const Audit = Type.Object({ limit: Type.Integer(), before: Type.Optional(Type.Integer()) })
const Reactions = Type.Object({ limit: Type.Integer() })
const Replay = Type.Object({ event: Type.Optional(Type.String()), module: Type.Optional(Type.String()) })
const Discard = Type.Object({
  event: Type.String(),
  module: Type.Optional(Type.String()),
  record: OperatorRecord,
})
const Activate = Type.Union([
  Type.Object({
    again: Type.Optional(Type.Boolean()),
    config: Type.Optional(Type.Object({ former: Type.String(), next: Type.String() })),
  }),
  Type.Null(),
])
const Settle = Type.Object({ generation: Type.Integer(), seconds: Type.Integer() })
const Hold = Type.Object({ file: Type.String() })
const Switch = Type.Object({ former: Type.String(), next: Type.String() })

/** For how long a former generation may go on answering while somebody waits for its end, in milliseconds. */
const RETIRING_TIMEOUT = 10_000

/** What a command needs to use the same database and secret: as variables. For the owner of the control socket only. */
export interface HostEnvironment {
  readonly APP_DATABASE: string
  readonly APP_SECRET?: string
}

const environmentOf = ({ database, databaseFile, secret }: Config): HostEnvironment => ({
  APP_DATABASE: databaseFile ?? database,
  ...(secret && { APP_SECRET: Buffer.from(secret).toString() }),
})

interface ControlledApplication {
  readonly installed: InstalledModules
  readonly storage: Storage
  /** The hosts of this database, of which SQLite has one. */
  readonly hosts: {
    self(): ServingHost
    others(): Promise<readonly ServingHost[]>
    /** Tells the others what this one serves. */
    call(): Promise<void>
  }
  state(): ApplicationState
  metrics(): Promise<readonly MetricFamily[]>
  readonly hold: WriteHold
  /** Watches the change of a generation for so long at least, in milliseconds, and waits for that. */
  settle(generation: number, milliseconds: number): Promise<Verdict | 'watched'>
}

/**
 * What the `app` command asks a running application, each answered by `inject` or on the control socket. Requests and
 * answers are JSON:
 *
 * - `GET /state`: what runs
 * - `GET /environment`: the database and the secret of the host, see `HostEnvironment`
 * - `GET /openapi`: the document of what is installed
 * - `POST /migrate` `{ modules }` (as in a lock): brings the schema up for them → `{ applied }`
 * - `POST /activate` `{ again, config: { former, next } }`: makes modules.lock.json, as it is now, what is served →
 *   `{ generation }`. With `again` modules that have failed are tried once more: the lock came from outside, or packages
 *   are back in the store. `config` is the text of app.config.json, where a setting has changed; the body may be absent
 * - `POST /settle` `{ generation, seconds }`: watches the change of that generation for so long at least, and answers
 *   when that is over → `{ verdict }`: `settled`, `taken back`, `superseded`, or `watched` where it goes on longer
 * - `GET /schema`: the schema and the ledger of the database
 * - `POST /undo` `{ migrations }`: undoes those that are applied → `{}`; 409 `{ reason, stillNeeded }` where another
 *   host of the database needs them
 * - `POST /backup` `{ file }`: writes a copy of the database, as of one moment, to that absolute path → `{}`
 * - `POST /retired` `{ modules }`: answers `{}` when nobody is served by a former generation any more, here or, of these
 *   modules, by another host of the database; 409 `{ reason, stillNeeded }` where one goes on
 * - `POST /purge` `{ module, record }`: drops the tables of a module that is not installed, on record → `{ module, tables }`
 * - `POST /audit` `{ limit, before }`: takes in what the application folder has for the audit trail, and answers the
 *   newest of it → `{ records }`
 * - `POST /reactions` `{ limit }`: how far modules have got with events, and at most so many on which they have failed,
 *   see `ReactionsState`
 * - `POST /replay` `{ event, module }`: makes such failed ones due → `{ reactions }`, which
 * - `POST /discard` `{ event, module, record }`: gives such failed ones up, on record → `{ reactions }`
 * - `POST /hold` `{ file }`: no write from now on, as long as this connection is open; answers when those before are
 *   done. `file` is the database that the caller means
 * - `POST /keep`: the holder is at work; writes are held for 30 s after the last one → `{}`
 * - `POST /switch` `{ former, next }`: replaces the text of app.config.json while writes are held, and holds them to
 *   the end of the process: the configuration names another database now → `{}`
 * - `GET /hosts`: the hosts that serve from the same database → `{ self, others }`
 * - `GET /settings`: the settings of the host that wait for its next start → `{ pending }`, see `PendingSetting`
 * - `GET /metrics`: what this process has counted, see `MetricFamily`
 * - `POST /restart`: replaces the processes that serve, one by one → `{ workers }`, how many
 *
 * A change that cannot be made is 409 `{ module, reason }`, or 507 `{ reason }` for want of room; nothing has changed then.
 */
export function createControl(
  application: ControlledApplication,
  config: Config,
  logger: FastifyBaseLogger,
): FastifyInstance {
  const { basePath } = config
  const app = fastify()
  const { hosts } = application
  const assertUnneeded = (modules: readonly string[]) =>
    assertNobodyNeeds(modules, hosts.self().modules, () => hosts.others())

  app.setErrorHandler((error: Error, _request, reply) => {
    if (error instanceof ModuleError)
      return reply.code(409).send({ module: error.module, reason: error.message })
    if (error instanceof StillNeededError)
      return reply.code(409).send({ reason: error.message, stillNeeded: true })
    if (error instanceof MigrationError || error instanceof EngineError || error instanceof ConfigError)
      return reply.code(409).send({ reason: error.message })
    if (error instanceof DatabaseError && error.kind === 'full')
      return reply.code(507).send({ reason: error.message })
    // A command has given up before it was heard, which is its own news.
    const hasLeft = (error as NodeJS.ErrnoException).code === 'ECONNRESET'
    logger[hasLeft ? 'debug' : 'error'](error, 'a control request failed')
    return reply.code(500).send({ reason: error.message })
  })
  app.get('/state', async () => application.state())
  app.get('/environment', async (): Promise<HostEnvironment> => environmentOf(config))
  app.get('/openapi', async () => (await application.installed.app.inject(`${basePath}/openapi.json`)).json())
  app.post(
    '/migrate',
    { schema: { body: Type.Object({ modules: Type.Record(Type.String(), LockedModule) }) } },
    async (request) => ({
      applied: await application.installed.migrate((request.body as Pick<Lock, 'modules'>).modules),
    }),
  )
  app.post('/activate', { schema: { body: Activate } }, async (request) => {
    const { again, config: changed } = (request.body as Static<typeof Activate> | undefined) ?? {}
    const generation = await application.installed.activate({ probed: true, again, config: changed })
    await hosts.call()
    return { generation }
  })
  app.post('/settle', { schema: { body: Settle } }, async (request) => {
    const { generation, seconds } = request.body as Static<typeof Settle>
    return { verdict: await application.settle(generation, seconds * 1000) }
  })
  app.get('/hosts', async () => ({ self: hosts.self(), others: await hosts.others() }))

  app.get('/metrics', () => application.metrics())
  app.get('/settings', async () => ({ pending: await pendingSettings(config) }))
  app.get('/schema', async () => application.storage.schema())
  app.post('/undo', { schema: { body: Undo } }, async (request) => {
    const { migrations } = request.body as Static<typeof Undo>
    await assertUnneeded(migrations.map(({ module }) => module))
    await application.storage.undo(migrations)
    return {}
  })
  app.post('/backup', { schema: { body: Backup } }, async (request) => {
    await application.storage.copyTo((request.body as Static<typeof Backup>).file)
    return {}
  })
  app.post('/retired', async (request, reply) => {
    if (await settlesWithin(RETIRING_TIMEOUT, application.installed.retired())) {
      await assertUnneeded((request.body as { modules?: string[] } | null)?.modules ?? [])
      return {}
    }
    const reason = `requests that began before the change are still not answered after ${RETIRING_TIMEOUT / 1000} s`
    return reply.code(409).send({ reason })
  })
  app.post('/purge', { schema: { body: Purge } }, async (request) => {
    const { module, record } = request.body as Static<typeof Purge>
    if (application.installed.modules.some(({ id }) => id === module)) {
      throw new MigrationError(`the tables of ${module} cannot be dropped: it is installed`)
    }
    await assertUnneeded([module])
    return purgeData(application.storage, module, record)
  })

  app.post('/audit', { schema: { body: Audit } }, async (request) => ({
    records: await readAudit(config.directory, application.storage, request.body as Static<typeof Audit>),
  }))

  app.post('/reactions', { schema: { body: Reactions } }, async (request) => {
    const { limit } = request.body as Static<typeof Reactions>
    return application.storage.snapshot(() => readReactions(limit))
  })
  app.post('/replay', { schema: { body: Replay } }, async (request) => ({
    reactions: await application.storage.transaction(() => replay(request.body as Static<typeof Replay>)),
  }))
  app.post('/discard', { schema: { body: Discard } }, async (request) => {
    const { record, ...choice } = request.body as Static<typeof Discard>
    return { reactions: await application.storage.transaction(() => discard(choice, record)) }
  })

  const { hold } = application
  app.addHook('preClose', async () => hold.end())
  app.post('/hold', { schema: { body: Hold } }, async (request, reply) => {
    await hold.begin((request.body as Static<typeof Hold>).file, reply.raw)
    return reply.hijack()
  })
  app.post('/keep', async () => {
    hold.keep()
    return {}
  })
  app.post('/switch', { schema: { body: Switch } }, async (request) => {
    const { former, next } = request.body as Static<typeof Switch>
    await hold.moveTo(former, next)
    return {}
  })

  app.post('/restart', async (_request, reply) =>
    reply.code(409).send({ reason: 'it is one process, and nobody would serve while it is replaced' }),
  )
  return app
}
