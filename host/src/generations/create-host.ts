import type { Config } from '@mortise/application'
import { isLoaded, isServing, unknownState } from '@mortise/application'
import { type Access, currentTime, DAY, deleteExpired } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { accessRules } from '../callers/access.ts'
import { ActingTokens } from '../callers/acting.ts'
import { callers } from '../callers/callers.ts'
import { GuestCookie } from '../callers/guest-cookie.ts'
import { Guests } from '../callers/guests.ts'
import type { TokenVerifier } from '../callers/token-verifier.ts'
import { EventLog } from '../events/event-log.ts'
import { requestAudit } from '../events/request-audit.ts'
import { holdOpen } from '../events/streams/hold-open.ts'
import { StreamCounts } from '../events/streams/stream-counts.ts'
import { streamEvents } from '../events/streams/stream-events.ts'
import { conditionalRequests } from '../http/conditional-requests.ts'
import { cors } from '../http/cors.ts'
import { fastifyOptions } from '../http/fastify-options.ts'
import type { ConcurrencyLimit } from '../http/limits/concurrency-limit.ts'
import type { RateLimits } from '../http/limits/window-counter.ts'
import { paging } from '../http/paging.ts'
import { problemDetails } from '../http/problem-details.ts'
import { requestBodies } from '../http/request-body.ts'
import { securityHeaders } from '../http/security-headers.ts'
import { unknownRoutes } from '../http/unknown-routes.ts'
import { validation } from '../http/validation.ts'
import { Background } from '../modules/background.ts'
import { ContractBoard } from '../modules/contract-registry.ts'
import { EventTypes } from '../modules/event-types.ts'
import { everyMinute } from '../modules/every-minute.ts'
import type { FailedModule, QuarantinedModule, RegisteredModule } from '../modules/host-module.ts'
import { LOAD_TIMEOUT } from '../modules/load-plugin.ts'
import { type OperatedProcess, operatorOf } from '../modules/operator.ts'
import { hostPaths } from '../modules/path-owners.ts'
import { refusePaused } from '../modules/refuse-paused.ts'
import { registerFailedModule } from '../modules/register-failed-module.ts'
import { type ModuleEnvironment, registerModule } from '../modules/register-module.ts'
import {
  addressLimit,
  byteLimit,
  callerLimit,
  forwardedLimit,
  moduleShares,
} from '../requests/apply-rate-limits.ts'
import { ClaimHandlers } from '../requests/claim-handlers.ts'
import { forgetExpired } from '../requests/idempotency-records.ts'
import { idempotencyRoutes } from '../requests/idempotency-routes.ts'
import { transaction } from '../requests/transaction.ts'
import { docsPage } from '../routes/docs-page.ts'
import { guestRoutes } from '../routes/guest-routes.ts'
import { health } from '../routes/health.ts'
import { type MetricsOptions, metrics } from '../routes/metrics.ts'
import { openapi } from '../routes/openapi.ts'
import { overview } from '../routes/overview.ts'
import { RequestDurations } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/open-tracing.ts'
import { requestLog } from '../telemetry/request-log.ts'
import { tracing } from '../telemetry/trace-requests.ts'
import { type ModuleWatch, type ResponseCountingOptions, responseCounting } from './response-counting.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Notifies the modules that another instance takes over, or the host stops. */
    retire?(): void
    /** Starts event handlers and jobs, until `retire`. Resolves when no later event can be missed. */
    react?(): Promise<void>
    /** Resolves when all existing events and due jobs are done, or their retry is scheduled. */
    reacted?(): Promise<void>
    /** By the id of a module, the access to each of its routes (`GET /cart`). */
    accesses: Map<string, Readonly<Record<string, Access>>>
  }
}

/** The parts of one generation. All but the modules outlive it. */
export interface HostOptions {
  readonly config: Config
  readonly storage: Storage
  readonly logger: FastifyBaseLogger
  readonly tokens: TokenVerifier
  /** The process's metrics; without them the instance counts nothing. */
  readonly metrics?: Pick<ResponseCountingOptions, 'requests'> & Pick<MetricsOptions, 'read'>
  /** Counts the responses of this instance; without it they are not counted. */
  readonly counting?: ModuleWatch | undefined
  /** The process's rate limits; without them there are none. */
  readonly limits?: RateLimits | undefined
  /** The process's limits of concurrent requests per address; without them there are none. */
  readonly shares?: ConcurrencyLimit | undefined
  /** The process's counts of open streams; without them the instance counts its own. */
  readonly streams?: StreamCounts | undefined
  /** The process's tracing; without it there is none. */
  readonly tracing?: Tracing | undefined
  /** The process's event log; without it the instance makes its own. */
  readonly events?: EventLog | undefined
  /** In contract order, providers first. */
  readonly modules: readonly RegisteredModule[]
  /**
   * Refuses what tests must find, and what an installed module may do: routes without response
   * schemas.
   */
  readonly strict?: boolean
  /** Refuses two routes with one operationId: for what is not installed yet. */
  readonly distinctOperations?: boolean
  /** Compiles each schema when it is first needed: right for modules that a probe has tried. */
  readonly lazy?: boolean
  /** The reason why the application cannot serve now; undefined while it can. */
  readonly notReady?: () => string | undefined
  /** Whether another host of the database serves something else now. */
  readonly hostsDiffer?: () => Promise<boolean>
  /** The process for a module that operates the application; without it none can. */
  readonly operated?: OperatedProcess | undefined
  /** Called for each module before its registration. */
  readonly onRegister?: (id: string) => void
}

/**
 * Builds the Fastify instance of one generation. It has no socket: it serves `inject`, and the
 * requests that an http.Server passes to `routing`.
 *
 * @throws {ModuleError} if a module cannot be registered; the partial instance is closed then
 */
export async function createHost(parts: HostOptions): Promise<FastifyInstance> {
  const { config, storage, logger, modules, notReady, hostsDiffer, limits } = parts
  const { requests, read } = parts.metrics ?? { requests: new RequestDurations(), read: async () => [] }
  const database = parts.tracing?.database(storage) ?? storage
  const { publicUrl, basePath } = config
  const application = { name: config.name, version: config.version }
  const tokens = new ActingTokens(parts.tokens)
  const guests = new Guests(database)
  const cookie = new GuestCookie({ publicUrl, origins: config.cors.origins })
  const events = parts.events ?? new EventLog(storage, logger)
  const eventTypes = new EventTypes()
  const serving = new Set(modules.filter(isServing).map(({ id }) => id))
  const background = new Background({ storage, events, log: logger, serving })
  const retirement = new AbortController()
  const claims = new ClaimHandlers(modules.filter(isLoaded).map(({ id }) => id))

  const app = fastify({
    ...fastifyOptions({ logger, basePath, trustProxy: config.server.trustProxy, lazy: parts.lazy }),
    pluginTimeout: LOAD_TIMEOUT,
  })
  try {
    await app.register(securityHeaders, { publicUrl })
    await app.register(requestLog, config.log)
    await app.register(responseCounting, { requests, watch: parts.counting })
    await app.register(tracing, { tracing: parts.tracing })
    await app.register(problemDetails)
    await app.register(cors, config.cors)
    if (config.server.trustProxy.length > 0) await app.register(forwardedLimit, { shares: parts.shares })
    await app.register(addressLimit, { limits, trustsProxy: config.server.trustProxy.length > 0 })
    const missing = withUnknownRoutes(modules)
    await app.register(unknownRoutes, { basePath, unavailable: missing })
    await app.register(refusePaused, { modules })
    await app.register(moduleShares)
    await app.register(accessRules)
    await app.register(requestBodies)
    await app.register(validation)
    await app.register(callers, { tokens, guests, cookie })
    await app.register(callerLimit, { limits })
    await app.register(byteLimit, { limits })
    await app.register(conditionalRequests)
    await app.register(requestAudit)
    await app.register(transaction, { database, guests, cookie, basePath })
    await app.register(paging, { publicUrl })
    await app.register(holdOpen, { counts: parts.streams ?? new StreamCounts(), tokens })
    await app.register(streamEvents, { events, retiring: retirement.signal })
    app.decorate('react', () => background.begin())
    app.decorate('accesses', new Map())
    app.decorate('reacted', () => background.idle())
    app.decorate('retire', () => retirement.abort())
    retirement.signal.addEventListener('abort', () => void background.stop())
    app.addHook('onClose', () => background.stop())
    app.addHook('preClose', async () => {
      retirement.abort()
      if (parts.events === undefined) await events.close()
    })
    everyMinute(app, database, 'host/guests', () => deleteExpired('mortise_guest'))
    everyMinute(app, database, 'host/idempotency', () => forgetExpired())
    everyMinute(app, database, 'host/events', () =>
      events.forgetOld(currentTime() - config.events.retentionDays * DAY),
    )
    await app.register(
      async (api) => {
        await api.register(openapi, {
          application,
          publicUrl,
          eventTypes: emitsEvents(modules) ? eventTypes : [],
        })
        await api.register(docsPage, { application })
        const quarantined = modules.flatMap(({ id, state }) => (state === 'quarantined' ? [id] : []))
        const ofStore =
          missing.length > 0 ? `packages are missing in the store: ${missing.join(', ')}` : undefined
        await api.register(health, { notReady: () => notReady?.() ?? ofStore, quarantined })
        await api.register(metrics, { ...config.metrics, read, tokens })
        await api.register(overview, { application, modules, ...(hostsDiffer && { hostsDiffer }) })
        await api.register(guestRoutes, { database, guests, cookie, claims })
        await api.register(idempotencyRoutes, { database })
        await registerModules(api, parts, {
          database,
          claims,
          events,
          eventTypes,
          background,
          paths: new Map(hostPaths.map((path) => [path, 'the host'])),
          tables: tableOwners(modules),
          guard: (prefix) => storage.guard(prefix),
          retiring: retirement.signal,
          tokens,
          operator: operatorOf({
            ...{ app: api, directory: config.directory, storage, tokens, metrics: read, publicUrl },
            process: parts.operated,
          }),
          strict: parts.strict,
          operations: parts.distinctOperations ? new Map() : undefined,
        })
      },
      { prefix: basePath },
    )
    await app.ready()
    return app
  } catch (error) {
    // Not awaited: a module that hangs while it loads may hang here too.
    app.close().catch(() => {})
    throw error
  }
}

const tableOwners = (modules: readonly RegisteredModule[]) =>
  new Map([
    ['mortise', 'the host'],
    ...modules.flatMap(({ id, manifest: { tables } }) =>
      tables === undefined ? [] : [[tables, id] as const],
    ),
  ])

/** Whether a module receives all events and so may send them to its clients. */
const emitsEvents = (modules: readonly RegisteredModule[]) =>
  modules.some((module) => isLoaded(module) && module.manifest.listensTo?.includes('*'))

/** The ids of modules with unknown routes. */
const withUnknownRoutes = (modules: readonly RegisteredModule[]): string[] =>
  modules.flatMap((module) => (module.state === 'failed' && module.routesUnknown ? [module.id] : []))

/** Failed modules last: they only respond on paths that no other module has taken. */
async function registerModules(
  api: FastifyInstance,
  { modules, onRegister }: HostOptions,
  environment: Omit<ModuleEnvironment, 'contracts'>,
): Promise<void> {
  const contracts = new ContractBoard()
  const failed: (FailedModule | QuarantinedModule)[] = []
  for (const module of modules) {
    switch (module.state) {
      case 'active':
      case 'paused': {
        onRegister?.(module.id)
        const access = await registerModule(api, module, { ...environment, contracts })
        api.accesses.set(module.id, Object.fromEntries(access))
        break
      }
      case 'failed':
      case 'quarantined':
        failed.push(module)
        break
      case 'disabled':
        break
      default:
        unknownState(module)
    }
  }
  for (const module of failed) registerFailedModule(api, module)
}
