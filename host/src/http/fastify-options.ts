import type { Config } from '@mortise/application'
import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify'
import { lazyLogger } from '../telemetry/request-log.ts'
import { buildSerializer } from './build-serializer.ts'
import { buildValidator, parseQuery } from './build-validator.ts'
import { BODY_LIMIT } from './discard-body.ts'
import { requestId, requestTargets } from './request-head.ts'

export interface HttpOptions extends Pick<Config['server'], 'trustProxy'> {
  readonly logger: FastifyBaseLogger
  /** Compiles each schema when it is first needed: a broken one fails a request, not the start. */
  readonly lazy?: boolean | undefined
  readonly basePath?: string | undefined
}

/** The options of every Fastify instance of the host. `createServer` makes the http.Server. */
export function fastifyOptions({
  logger,
  trustProxy,
  basePath,
  lazy = false,
}: HttpOptions): FastifyServerOptions {
  return {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: lazyLogger,
    genReqId: requestId as FastifyServerOptions['genReqId'] & {},
    rewriteUrl: requestTargets(basePath),
    routerOptions: {
      // An id of any length reaches its route and gets that route's 404.
      maxParamLength: Number.MAX_SAFE_INTEGER,
      querystringParser: parseQuery as never,
    },
    schemaController: {
      compilersFactory: {
        buildValidator: ((shared: Parameters<typeof buildValidator>[0]) =>
          buildValidator(shared, lazy)) as never,
        buildSerializer: buildSerializer(lazy),
      },
    },
    bodyLimit: BODY_LIMIT,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    // The host drains an instance before it replaces it, so the instance finishes what it began.
    return503OnClosing: false,
  }
}
