import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify'
import type { Config } from '../config/config.ts'
import { lazyLogger } from '../telemetry/observe-requests.ts'
import { buildSerializer } from './build-serializer.ts'
import { buildValidator, parseQuery } from './build-validator.ts'
import { BODY_LIMIT } from './discard-body.ts'
import { requestId, requestTarget } from './head.ts'

/** The options of every Fastify instance of the host. `createServer` makes the http.Server. */
export function fastifyOptions({
  logger,
  trustProxy,
}: Pick<Config['server'], 'trustProxy'> & { readonly logger: FastifyBaseLogger }): FastifyServerOptions {
  return {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: lazyLogger,
    genReqId: requestId as FastifyServerOptions['genReqId'] & {},
    rewriteUrl: requestTarget,
    routerOptions: {
      // An id of any length reaches its route and gets that route's 404.
      maxParamLength: Number.MAX_SAFE_INTEGER,
      querystringParser: parseQuery as never,
    },
    schemaController: {
      compilersFactory: { buildValidator: buildValidator as never, buildSerializer },
    },
    bodyLimit: BODY_LIMIT,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    // The host drains an instance before it replaces it, so the instance finishes what it began.
    return503OnClosing: false,
  }
}
