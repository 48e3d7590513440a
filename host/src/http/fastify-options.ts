import {
  errorCodes,
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { lazyLogger } from '../telemetry/observe-requests.ts'
import { buildSerializer } from './build-serializer.ts'
import { buildValidator, parseQuery } from './build-validator.ts'
import { BODY_LIMIT } from './discard-body.ts'
import { requestId, requestTarget } from './head.ts'
import { hostProblems } from './problems.ts'
import { sendProblem } from './send-problem.ts'

export interface HttpOptions {
  readonly logger: FastifyBaseLogger
  /** Addresses and CIDR ranges of proxies with a trusted X-Forwarded-For. */
  readonly trustProxy: readonly string[]
}

/**
 * Longer than any parameter: a request head has at most 8 KiB, and escaping triples it at most. So
 * an id of any length reaches its route and gets that route's 404.
 */
const MAX_PARAMETER_LENGTH = 3 * 8192

/** The options of every Fastify instance of the host. `createServer` makes the http.Server. */
export function fastifyOptions({ logger, trustProxy }: HttpOptions): FastifyServerOptions {
  return {
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    childLoggerFactory: lazyLogger,
    genReqId: requestId as FastifyServerOptions['genReqId'] & {},
    rewriteUrl: ({ url = '' }) => requestTarget(url),
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH, querystringParser: parseQuery as never },
    schemaController: {
      compilersFactory: { buildValidator: buildValidator as never, buildSerializer },
    },
    bodyLimit: BODY_LIMIT,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    // The host drains an instance before it replaces it, so the instance finishes what it began.
    return503OnClosing: false,
    frameworkErrors,
  }
}

/**
 * Handles what the router refuses before any hook: after `requestTarget` only parameters beyond all
 * limits.
 */
function frameworkErrors(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { FST_ERR_MAX_PARAM_LENGTH, FST_ERR_BAD_URL } = errorCodes
  if (error instanceof FST_ERR_MAX_PARAM_LENGTH || error instanceof FST_ERR_BAD_URL) {
    sendProblem(hostProblems.create('not-found', 'No resource has this path.'), reply)
  } else {
    request.log.error(error, 'the router failed')
    sendProblem(hostProblems.create('internal-error', 'The server failed to route this request.'), reply)
  }
}
