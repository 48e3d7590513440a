import { ConfigError, clauseOf, firstError } from '@mortise/application'
import { DatabaseError } from '@mortise/module-sdk'
import { EngineError, isLocked, MigrationError, StillNeededError, StorageUnfitError } from '@mortise/storage'
import type { TSchema } from '@sinclair/typebox'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { HostStoppingError } from '../generations/generation-switch.ts'
import { ModuleError } from '../modules/host-module.ts'
import { dropAbandoned } from './drop-abandoned.ts'
import type { RunningApplication } from './open-application.ts'
import { type DatabaseOperation, type HostOperation, RefusedError } from './operation.ts'
import { operations } from './operations.ts'

/**
 * Serves the operations of the `app` command on a running application: `GET` or `POST` to the name of
 * an operation, with input and output as JSON.
 *
 * A refused operation responds with 409 `{ reason }`, plus the `module` or `stillNeeded` that
 * caused it, with 507 for lack of space, or with 503 and `stopping` by a host that ends; nothing
 * has changed then.
 */
export function createControl(application: RunningApplication, logger: FastifyBaseLogger): FastifyInstance {
  const app = fastify({ schemaController })
  app.setErrorHandler((error: Error, _request, reply) => {
    const status = statusOf(error)
    // A command gave up before its request was read, and reports that itself.
    const hasLeft = (error as NodeJS.ErrnoException).code === 'ECONNRESET'
    const { trouble } = application.storage
    // Whatever failed then, failed for this.
    if (trouble !== undefined) return reply.code(409).send({ reason: trouble, unreachable: true })
    if (status === 500) logger[hasLeft ? 'debug' : 'error'](error, 'a control request failed')
    return reply.code(status).send({
      ...(error instanceof ModuleError && { module: error.module }),
      reason: error.message,
      ...(error instanceof StillNeededError && { stillNeeded: true }),
      ...(isLocked(error) && { locked: true }),
      ...(error instanceof StorageUnfitError && { unfit: true }),
      ...(error instanceof HostStoppingError && { stopping: true }),
    })
  })
  dropAbandoned(app)
  app.addHook('preClose', async () => application.hold.end())
  const all: [string, HostOperation<TSchema, unknown> | DatabaseOperation<TSchema, unknown>][] =
    Object.entries(operations)
  for (const [name, operation] of all) {
    if (operation.needs === 'no host') continue
    app.route({
      method: operation.reads ? 'GET' : 'POST',
      url: `/${name}`,
      ...(operation.input && { schema: { body: operation.input } }),
      async handler({ body }, reply) {
        const output = await operation.run(application, body, reply.raw)
        return reply.raw.headersSent ? reply.hijack() : (output ?? {})
      },
    })
  }
  return app
}

// Fastify's own compilers would be loaded, and compile the inputs of all operations at the start.
const schemaController = {
  compilersFactory: {
    buildValidator: (() =>
      ({ schema }: { schema: TSchema }) =>
      (input: unknown) => {
        const wrong = firstError(schema, input)
        return wrong === undefined ? { value: input } : { error: new TypeError(clauseOf(wrong)) }
      }) as never,
    buildSerializer: () => () => JSON.stringify,
  },
}

const refusals = [StorageUnfitError, ModuleError, MigrationError, EngineError, ConfigError, RefusedError]

function statusOf(error: Error): number {
  if (error instanceof HostStoppingError) return 503
  if (isLocked(error) || refusals.some((refusal) => error instanceof refusal)) return 409
  return error instanceof DatabaseError && error.kind === 'full' ? 507 : 500
}
