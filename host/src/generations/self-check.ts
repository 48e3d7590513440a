import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { type ActiveModule, ModuleError } from '../modules/host-module.ts'
import { settlesWithin } from '../telemetry/settles-within.ts'

/** Time limit for one response, in milliseconds. */
const TIMEOUT = 5000

/**
 * Calls every GET route of a module, as the caller of `headers` or as a guest without data, with
 * parameters that match nothing. Any response but a server error (5xx) is right: the statements fit
 * the schema and the handlers run. Its head is enough, since a stream may never end.
 *
 * @throws {ModuleError} that names the failing route
 */
export async function selfCheck(
  app: FastifyInstance,
  basePath: string,
  { id, manifest }: Pick<ActiveModule, 'id' | 'manifest'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  for (const route of manifest.routes) {
    const [method, path = ''] = route.split(' ')
    if (method !== 'GET') continue
    const url = basePath + path.replace(/:\w+/g, 'self-check').replace('*', 'self-check')
    const response = app.inject({
      url,
      headers: { 'user-agent': 'mortise-self-check', ...headers },
      payloadAsStream: true,
    })
    if (!(await settlesWithin(TIMEOUT, response))) {
      const seconds = TIMEOUT / 1000
      throw new ModuleError(id, `its route ${route} does not respond within ${seconds} s in the self-check`)
    }
    const { statusCode, raw } = await response
    await leave(raw.res)
    if (statusCode >= 500)
      throw new ModuleError(id, `its route ${route} responds with ${statusCode} in the self-check`)
  }
}

/** As a client that goes away. */
async function leave(response: ServerResponse): Promise<void> {
  if (response.destroyed) return
  const closed = once(response, 'close')
  response.destroy()
  await closed
}
