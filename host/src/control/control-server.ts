import { chmod } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { type HostModule, ModuleError } from '../modules/host-module.ts'
import type { InstalledModules } from '../modules/installed-modules.ts'
import { type Lock, LockedModule } from '../modules/lock.ts'
import { ConfigError } from '../settings.ts'
import { MigrationError } from '../storage/storage.ts'
import { controlSocket, prepareControlSocket } from './control-socket.ts'

/** What runs, for the `app` command. */
export interface ApplicationState {
  readonly pid: number
  readonly url: string
  readonly generation: number
  readonly modules: readonly {
    readonly id: string
    readonly version: string
    readonly state: HostModule['state']
    readonly reason?: string
  }[]
}

interface ControlledApplication {
  readonly installed: InstalledModules
  state(): ApplicationState
}

/**
 * Serves the `app` command on a local socket that only this user can open. Requests and answers are JSON:
 *
 * - `GET /state`: what runs
 * - `GET /openapi`: the document of what is installed
 * - `POST /migrate` `{ modules }` (as in a lock): brings the schema up for them → `{ applied }`
 * - `POST /activate`: makes modules.lock.json, as it is now, what is served → `{ generation }`
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
    if (error instanceof MigrationError || error instanceof ConfigError)
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

  const socket = controlSocket(directory)
  await prepareControlSocket(socket)
  await app.listen({ path: socket })
  await chmod(socket, 0o600)
  return app
}
