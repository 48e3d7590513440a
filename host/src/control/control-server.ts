import { chmod } from 'node:fs/promises'
import { type Static, Type } from '@sinclair/typebox'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { type HostModule, ModuleError } from '../modules/host-module.ts'
import type { InstalledModules } from '../modules/installed-modules.ts'
import { type Lock, LockedModule } from '../modules/lock.ts'
import { ConfigError } from '../settings.ts'
import { EngineError, MigrationError, type Storage } from '../storage/storage.ts'
import { controlSocket, prepareControlSocket } from './control-socket.ts'

/** What runs, for the `app` command. */
export interface ApplicationState {
  readonly pid: number
  /** The version of the host. */
  readonly host: string
  readonly url: string
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
}

const Undo = Type.Object({
  migrations: Type.Array(Type.Object({ module: Type.String(), name: Type.String() })),
})
const Backup = Type.Object({ file: Type.String() })
const Purge = Type.Object({ module: Type.String() })

/** For how long a former generation may go on answering while somebody waits for its end, in milliseconds. */
const RETIRING_TIMEOUT = 10_000

interface ControlledApplication {
  readonly installed: InstalledModules
  readonly storage: Storage
  state(): ApplicationState
}

/**
 * Serves the `app` command on a local socket that only this user can open. Requests and answers are JSON:
 *
 * - `GET /state`: what runs
 * - `GET /openapi`: the document of what is installed
 * - `POST /migrate` `{ modules }` (as in a lock): brings the schema up for them → `{ applied }`
 * - `POST /activate`: makes modules.lock.json, as it is now, what is served → `{ generation }`
 * - `GET /schema`: the schema and the ledger of the database
 * - `POST /undo` `{ migrations }`: undoes those that are applied → `{}`
 * - `POST /backup` `{ file }`: writes a copy of the database, as of one moment, to that absolute path → `{}`
 * - `POST /retired`: answers `{}` when nobody is served by a former generation any more
 * - `POST /purge` `{ module }`: drops the tables of a module that is not installed → `{ module, tables }`
 *
 * A change that cannot be made is 409 `{ module, reason }`; nothing has changed then.
 */
export async function startControlServer(
  application: ControlledApplication,
  { directory, basePath }: Pick<Config, 'directory' | 'basePath'>,
  logger: FastifyBaseLogger,
): Promise<FastifyInstance> {
  const app = fastify()

  app.setErrorHandler((error: Error, _request, reply) => {
    if (error instanceof ModuleError)
      return reply.code(409).send({ module: error.module, reason: error.message })
    if (error instanceof MigrationError || error instanceof EngineError || error instanceof ConfigError)
      return reply.code(409).send({ reason: error.message })
    logger.error(error, 'a control request failed')
    return reply.code(500).send({ reason: error.message })
  })
  app.get('/state', async () => application.state())
  app.get('/openapi', async () => (await application.installed.app.inject(`${basePath}/openapi.json`)).json())
  app.post(
    '/migrate',
    { schema: { body: Type.Object({ modules: Type.Record(Type.String(), LockedModule) }) } },
    async (request) => ({
      applied: await application.installed.migrate((request.body as Pick<Lock, 'modules'>).modules),
    }),
  )
  app.post('/activate', async () => ({ generation: await application.installed.activate({ probed: true }) }))

  app.get('/schema', async () => application.storage.schema())
  app.post('/undo', { schema: { body: Undo } }, async (request) => {
    await application.storage.undo((request.body as Static<typeof Undo>).migrations)
    return {}
  })
  app.post('/backup', { schema: { body: Backup } }, async (request) => {
    await application.storage.copyTo((request.body as Static<typeof Backup>).file)
    return {}
  })
  app.post('/retired', async (_request, reply) => {
    if (await settlesWithin(RETIRING_TIMEOUT, application.installed.retired())) return {}
    const reason = `requests that began before the change are still not answered after ${RETIRING_TIMEOUT / 1000} s`
    return reply.code(409).send({ reason })
  })
  app.post('/purge', { schema: { body: Purge } }, async (request) => {
    const { module } = request.body as Static<typeof Purge>
    if (application.installed.modules.some(({ id }) => id === module)) {
      throw new MigrationError(`the tables of ${module} cannot be dropped: it is installed`)
    }
    return application.storage.purge(module)
  })

  const socket = controlSocket(directory)
  await prepareControlSocket(socket)
  await app.listen({ path: socket })
  await chmod(socket, 0o600)
  return app
}

async function settlesWithin(milliseconds: number, work: Promise<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), milliseconds)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
