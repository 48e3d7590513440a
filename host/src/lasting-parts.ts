import type { Environment } from '@mortise/application'
import { assertOwnSecret, type Config, readConfig, readIdentity, tokenIssuers } from '@mortise/application'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger } from 'fastify'
import type { DestinationStream } from 'pino'
import { createTokenVerifier, type TokenVerifier } from './callers/token-verifier.ts'
import type { StartOptions } from './control/open-application.ts'
import { openApplicationStorage } from './control/open-application-storage.ts'
import { OwnSecrets } from './control/own-secrets.ts'
import type { Parent } from './control/supervisor/parent.ts'
import { WritePause } from './control/write-pause.ts'
import { EventLog } from './events/event-log.ts'
import { importPendingRecords } from './events/import-records.ts'
import { StreamCounts } from './events/streams/stream-counts.ts'
import { ChangeWatch } from './generations/change-watch.ts'
import type { InstalledModules } from './generations/installed-modules.ts'
import { EventLoopWatch } from './generations/loop-watch.ts'
import { moduleSocketLimits } from './http/connection-limit.ts'
import { freePort } from './http/free-port.ts'
import { ConcurrencyLimit } from './http/limits/concurrency-limit.ts'
import { RateLimits } from './http/limits/window-counter.ts'
import { guardProcess } from './modules/guard-process.ts'
import type { Shutdown } from './shutdown.ts'
import { createLogger } from './telemetry/logger.ts'
import { Metrics } from './telemetry/metrics.ts'
import { openTracing, type Tracing } from './telemetry/open-tracing.ts'

export interface ApplicationOptions extends StartOptions {
  readonly directory: string
  readonly environment?: Environment | undefined
  /** Modules cannot end the process, and `closed` rejects for an uncaught error. */
  readonly ownsProcess?: boolean
  /** The number of this worker among those of its supervisor; absent for a host without one. */
  readonly worker?: number | undefined
  /** What starts this process again; absent without it. */
  readonly parent?: Parent | undefined
  /** For an author: the log goes there, and no change is watched and reverted. */
  readonly development?: DestinationStream | undefined
  /** The file of the command that started it, for a module that operates the application. */
  readonly command?: string | undefined
  /** Cancels the start until something is served; no effect afterwards. */
  readonly signal?: AbortSignal | undefined
}

/** An application that has modules. */
export interface Serving {
  readonly installed: InstalledModules
  /** Notifies the other hosts of the database what this one serves. */
  notifyHosts(): Promise<void>
}

/** What lasts as long as the process; only modules come and go. */
export interface LastingParts {
  readonly config: Config
  readonly log: FastifyBaseLogger
  readonly storage: Storage
  readonly hold: WritePause
  /** Where it listens; '' before it does. */
  readonly address: { url: string }
  readonly metrics: Metrics
  readonly limits: RateLimits | undefined
  readonly shares: ConcurrencyLimit
  readonly streams: StreamCounts
  readonly tokens: TokenVerifier
  readonly tracing: Tracing | undefined
  readonly events: EventLog
  readonly watch: ChangeWatch
  readonly loop: EventLoopWatch
  readonly secrets: OwnSecrets
  /** Failures of modules outside of requests, and the connections that they have made. */
  readonly guard: Pick<ReturnType<typeof guardProcess>, 'troubles' | 'socketsOf'> | undefined
  /** Closes all that was opened. */
  close(): Promise<void>
}

/**
 * Opens the database and all else that the first modules need.
 * @param serving resolves when there are modules; what fails before waits for them
 * @throws as `Application.start` says
 */
export async function openLastingParts(
  options: ApplicationOptions,
  shutdown: Shutdown,
  serving: Promise<Serving>,
): Promise<LastingParts> {
  const { directory, parent, ownsProcess = false, development, signal } = options
  const config = await readConfig(directory, options.environment)
  await assertAddressFree(options, config)
  const log = createLogger(config.log, development)
  if (parent?.previous !== undefined)
    log.warn({ previous: parent.previous }, `the host starts again: ${parent.previous}`)
  for (const name of config.unknownVariables) log.warn(`${name} is not a setting and has no effect`)
  assertOwnSecret(config, await readIdentity(directory))
  const secrets = new OwnSecrets(config, log)
  const metrics = new Metrics()
  const storage = await openStorage(secrets, log, metrics, shutdown)
  const { blockedSeconds } = config.host
  const loop = new EventLoopWatch({ directory, blockedSeconds, parent: parent?.pid })
  if (ownsProcess && development === undefined) await loop.begin()
  const watch = new ChangeWatch({
    directory,
    loop,
    log,
    removeFailing: async () => (await serving).installed.removeFailing(),
    async serve(lock, change) {
      const application = await serving
      await application.installed.servePrevious(lock, change)
      await application.notifyHosts()
      await importPendingRecords(directory, storage)
    },
  })
  const guard = ownsProcess ? guardAgainstModules(config, watch, log, shutdown) : undefined
  const events = new EventLog(storage, log)
  let tracing: Tracing | undefined
  const close = async () => {
    try {
      await Promise.all([events.close(), tracing?.close()])
    } finally {
      await storage.close()
      loop.end()
    }
  }
  try {
    tracing = await openTracing(config, log)
    signal?.throwIfAborted()
  } catch (error) {
    await close()
    throw error
  }
  return {
    ...{ config, log, storage, metrics, secrets, loop, watch, guard, events, tracing, close },
    hold: new WritePause(storage, config),
    address: { url: '' },
    limits: config.rateLimit.max === 0 ? undefined : new RateLimits(config.rateLimit),
    shares: new ConcurrencyLimit(config.server.maxConnectionsPerAddress),
    streams: new StreamCounts(),
    tokens: createTokenVerifier({
      issuers: tokenIssuers(config),
      log,
      onWrongSignature: () => secrets.renewForToken(),
    }),
  }
}

/** Workers share a port, and a parent keeps its socket. */
async function assertAddressFree({ port, host, worker, parent }: ApplicationOptions, { server }: Config) {
  const address = { port: port ?? server.port, host: host ?? server.host }
  if (worker === undefined && parent?.socketFor(address) === undefined) await freePort(address)
}

const openStorage = (secrets: OwnSecrets, log: FastifyBaseLogger, observer: Metrics, shutdown: Shutdown) =>
  openApplicationStorage(secrets.config, {
    renewUrl: () => secrets.renewUrl(),
    onFatal: (error) => shutdown.fail(error),
    onCheckpoint: (failure) => {
      if (failure === undefined) log.info('checkpoints of the write-ahead log succeed again')
      else log.error(failure, walMessage(secrets.config.databaseFile ?? ''))
    },
    onSlowRead: (statement, milliseconds) =>
      log.warn(
        { statement, milliseconds: Math.round(milliseconds) },
        'a read held all callers up: declare it by { long: true }, or add an index',
      ),
    observer,
    keepFree: { bytes: secrets.config.storage.minFreeBytes },
  })

const walMessage = (file: string) =>
  `checkpoints fail: the write-ahead log cannot be copied into ${file}. Acknowledged writes are safe in ${file}-wal, which grows until this ends. Check the disk`

/** Until the end of the application. */
function guardAgainstModules(
  { directory, host, server }: Config,
  watch: ChangeWatch,
  log: FastifyBaseLogger,
  shutdown: Shutdown,
) {
  const guard = guardProcess({
    directory,
    onTrouble: (folder, reason) => {
      watch
        .handleFailure(folder, reason)
        .catch((error) => log.error(error, 'a failing module still serves: it cannot be removed'))
    },
    onUncaught(error) {
      log.fatal({ err: error }, 'an uncaught error of no module ends the host')
      shutdown.abandon(error)
    },
    onUnhandled: (reason) => log.error({ err: reason }, 'unhandled rejection'),
    sockets: moduleSocketLimits(host.maxSocketsPerModule, server.maxConnections),
  })
  shutdown.closed.finally(guard.release).catch(() => {})
  return guard
}
