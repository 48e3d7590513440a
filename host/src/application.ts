import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { AddressList } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { DestinationStream } from 'pino'
import { signedInCaller } from './callers/signed-in-caller.ts'
import { createTokenVerifier, type TokenVerifier } from './callers/token-verifier.ts'
import { type Config, readConfig, tokenIssuers } from './config/config.ts'
import { drainSecondsOf, stoppingMessage } from './config/drain-seconds.ts'
import { assertOwnSecret, readIdentity, remember } from './config/identity.ts'
import type { Environment } from './config/settings.ts'
import { hostVersion } from './config/version.ts'
import { allMetrics } from './control/all-metrics.ts'
import type { ApplicationState } from './control/application-state.ts'
import { callRunningHost } from './control/call-running-host.ts'
import { ControlListener } from './control/control-listener.ts'
import { createControl } from './control/control-server.ts'
import type { RunningApplication, StartOptions } from './control/open-application.ts'
import { openApplicationStorage } from './control/open-application-storage.ts'
import { OwnSecrets } from './control/own-secrets.ts'
import { processOf } from './control/run-command.ts'
import type { Parent } from './control/supervisor/parent.ts'
import { MOVED, WritePause } from './control/write-pause.ts'
import { EventLog } from './events/event-log.ts'
import { importPendingRecords } from './events/pending-records.ts'
import { ChangeWatch } from './generations/change-watch.ts'
import { withUnknownRoutes } from './generations/create-host.ts'
import { HostHeartbeats } from './generations/host-heartbeats.ts'
import { InstalledModules } from './generations/installed-modules.ts'
import { EventLoopWatch } from './generations/loop-watch.ts'
import { Quarantine } from './generations/quarantine.ts'
import type { ServingHost } from './generations/serving-host.ts'
import type { LiveChange } from './generations/settling.ts'
import { watchLockFile } from './generations/watch-lock-file.ts'
import { assertPortFree } from './http/assert-port-free.ts'
import { connectionLimit } from './http/connection-limit.ts'
import type { Connections } from './http/http-connections.ts'
import { ConcurrencyLimit } from './http/limits/concurrency-limit.ts'
import { SharedCounts } from './http/limits/shared-counts.ts'
import { RateLimits } from './http/limits/window-counter.ts'
import { logDropped, logRefusedAddresses } from './http/log-dropped.ts'
import { hostProblems } from './http/problems.ts'
import type { Admission } from './http/server.ts'
import { createServer } from './http/server.ts'
import type { StalledResponses } from './http/stalled-responses.ts'
import { guardProcess } from './modules/guard-process.ts'
import { loadedPackages } from './modules/load-plugin.ts'
import { storeDirectory } from './modules/lock-file.ts'
import { logRefusals } from './telemetry/log-refusals.ts'
import { createLogger } from './telemetry/logger.ts'
import { Metrics } from './telemetry/metrics.ts'
import { openTracing, type Tracing } from './telemetry/open-tracing.ts'
import { ProcessMetrics } from './telemetry/process-metrics.ts'
import type { MetricFamily } from './telemetry/prometheus-format.ts'
import { settlesWithin } from './telemetry/settles-within.ts'

/** How long requests in progress may take after a stop, in milliseconds. */
const DRAIN_TIMEOUT = 10_000
/** How long idle connections of a leaving process stay open, in milliseconds. */
const LEAVE_TIMEOUT = 15_000
/** The same after a drain, in milliseconds: requests just sent still get a response. */
const LAST_REQUESTS = 1_000

/** The accept queue. Node's own 511 drops connections of a crowd, which retry a second later. */
const BACKLOG = 4_096
/** If checkpoints fail, the host is ready up to this size of the write-ahead log, in bytes. */
const WAL_LIMIT = 64 * 1024 * 1024

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

/** What outlives generations. */
interface Parts {
  readonly config: Config
  readonly log: FastifyBaseLogger
  readonly storage: Storage
  readonly installed: InstalledModules
  readonly metrics: Metrics
  readonly limits: RateLimits | undefined
  readonly shares: ConcurrencyLimit
  readonly tokens: TokenVerifier
  readonly tracing: Tracing | undefined
  readonly events: EventLog
  readonly watch: ChangeWatch
  readonly loop: EventLoopWatch
  readonly closed: PromiseWithResolvers<void>
  readonly listener: ControlListener
  /** The process that starts this one again. */
  readonly supervisor: number | undefined
  readonly secrets: OwnSecrets
}

/** A running application. All but its modules live as long as the process. */
export class Application {
  readonly installed: InstalledModules
  readonly #parts: Parts
  readonly #server: Server
  readonly #admission: Admission
  readonly #connections: Connections
  readonly #stalled: StalledResponses
  readonly #sharedCounts: SharedCounts | undefined
  readonly #process = new ProcessMetrics()
  readonly #abandoned = new AbortController()
  readonly #drained = new AbortController()
  readonly #control: FastifyInstance
  readonly #hold: WritePause
  readonly #stopReporting: readonly (() => void)[]
  readonly #heartbeats: HostHeartbeats | undefined
  #url = ''
  #options: StartOptions = {}
  #cut = 0
  #stopping: Promise<void> | undefined
  #failure: Error | undefined

  private constructor(parts: Parts) {
    this.#parts = parts
    this.installed = parts.installed
    const { config, log, storage, installed, limits, shares } = parts
    const { server, admission, connections, stalled } = createServer({
      maxConnections: connectionLimit(config.server.maxConnections, log),
      shares,
      proxies: new AddressList(config.server.trustProxy),
      onRefused: logRefusedAddresses(shares.most, log),
      maxRequests: config.server.maxRequests,
      signedInCaller: (headers) => signedInCaller(headers, parts.tokens),
      basePath: config.basePath,
      listener: installed.listener,
    })
    logDropped(server, log)
    this.#server = server
    this.#admission = admission
    this.#connections = connections
    this.#stalled = stalled
    if (storage.isShared) {
      this.#heartbeats = new HostHeartbeats(
        storage,
        () => this.#self(),
        log,
        () => {
          // Not awaited: a switch writes a heartbeat.
          installed.followQuarantine().catch((error) => log.warn(error, 'the quarantine cannot be read'))
        },
      )
      if (limits !== undefined) this.#sharedCounts = new SharedCounts(storage, limits, log)
    }
    this.#hold = new WritePause(storage, config)
    this.#stopReporting = [
      logRefusals(storage, log, 'writes', 'reads continue'),
      logRefusals(admission, log, 'requests', 'earlier requests continue'),
      logRefusals(storage.outage, log, 'reads and writes', 'the host is not ready'),
    ]
    this.#control = createControl(this.#controlled(), log)
  }

  /**
   * Starts the host of an application folder. A module that cannot be activated is failed: its
   * routes respond with 503, the others serve.
   *
   * @throws {ConfigError} if a setting or the lock file is invalid
   * @throws {IdentityError} if database or secret are missing or not the application's own
   * @throws {StorageBusyError} if another process has the database, or serves the application in
   * this folder
   * @throws {Error} EADDRINUSE and the like, of the port
   * @throws the reason of `signal`
   */
  static async start(options: ApplicationOptions): Promise<Application> {
    // Before the host reads anything: a command that finds no socket has changed what it will read.
    const listener = await ControlListener.open(options.directory, options.worker)
    try {
      return await Application.#start(options, listener)
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  static async #start(
    {
      directory,
      port,
      host,
      worker,
      parent,
      environment,
      ownsProcess = false,
      development,
      command,
      signal,
    }: ApplicationOptions,
    listener: ControlListener,
  ): Promise<Application> {
    const config = await readConfig(directory, environment)
    const isWorker = worker !== undefined
    const { server } = config
    const address = { port: port ?? server.port, host: host ?? server.host }
    if (!isWorker && parent?.socketFor(address) === undefined) await assertPortFree(address)
    const logger = createLogger(config.log, development)
    if (parent?.previous !== undefined)
      logger.warn({ previous: parent.previous }, `the host starts again: ${parent.previous}`)
    for (const name of config.unknownVariables) logger.warn(`${name} is not a setting and has no effect`)
    const closed = Promise.withResolvers<void>()
    const limits = config.rateLimit.max === 0 ? undefined : new RateLimits(config.rateLimit)
    const shares = new ConcurrencyLimit(config.server.maxConnectionsPerAddress)
    const metrics = new Metrics()
    assertOwnSecret(config, await readIdentity(directory))
    const secrets = new OwnSecrets(config, logger)
    let application: Application | undefined
    const storage = await openApplicationStorage(config, {
      onFatal: (error) => (application === undefined ? closed.reject(error) : application.#fail(error)),
      onCheckpoint: (failure) => {
        if (failure === undefined) logger.info('checkpoints of the write-ahead log succeed again')
        else logger.error(failure, walMessage(config.databaseFile ?? ''))
      },
      onSlowRead: (statement, milliseconds) =>
        logger.warn(
          { statement, milliseconds: Math.round(milliseconds) },
          'a read held all callers up: declare it by { long: true }, or add an index',
        ),
      observer: metrics,
      keepFree: { bytes: config.storage.minFreeBytes },
    })
    let installed: InstalledModules | undefined
    let tracing: Tracing | undefined
    let events: EventLog | undefined
    const loop = new EventLoopWatch({
      directory,
      blockedSeconds: config.host.blockedSeconds,
      parent: parent?.pid,
    })
    if (ownsProcess && development === undefined) await loop.begin()
    const watch = new ChangeWatch({
      directory,
      loop,
      log: logger,
      removeFailing: async () => installed?.removeFailing(),
      async serve(lock, change) {
        await installed?.servePrevious(lock, change)
        if (application !== undefined) await application.#heartbeats?.beat()
        await importPendingRecords(directory, storage)
      },
    })
    const guard = ownsProcess
      ? guardProcess({
          onTrouble: (folder) => {
            const reason = guard?.troubles.get(folder) ?? ''
            watch
              .handleFailure(folder, reason)
              .catch((error) => logger.error(error, 'a failing module still serves: it cannot be removed'))
          },
          onUncaught(error) {
            logger.fatal({ err: error }, 'an uncaught error of no module ends the host')
            closed.reject(error)
          },
          onUnhandled: (reason) => logger.error({ err: reason }, 'unhandled rejection'),
        })
      : undefined
    closed.promise.catch(() => {}).finally(() => guard?.release())
    try {
      tracing = await openTracing(config, logger)
      signal?.throwIfAborted()
      const notReady = () => {
        if (application?.isStopping) return 'the host is shutting down'
        if (application?.hasMoved) return MOVED
        if (storage.trouble) return 'the database cannot be reached'
        if (storage.wal?.failure && storage.wal.bytes > WAL_LIMIT)
          return 'checkpoints fail, and the write-ahead log is larger than 64 MiB'
        const missing = withUnknownRoutes(installed?.modules ?? [])
        return missing.length > 0 ? `packages are missing in the store: ${missing.join(', ')}` : undefined
      }
      const tokens = createTokenVerifier({
        issuers: tokenIssuers(config),
        log: logger,
        onWrongSignature: () => secrets.renewForToken(),
      })
      const hostsDiffer = () => application !== undefined && application.#heartbeats?.hostsDiffer === true
      const figures = {
        requests: metrics.requests,
        read: async () => (isWorker ? metricsOfAll(directory) : (application?.metrics() ?? [])),
      }
      events = new EventLog(storage, logger)
      const parts = {
        config,
        logger,
        storage,
        events,
        tokens,
        notReady,
        hostsDiffer,
        operated:
          command === undefined ? undefined : processOf(directory, command, () => application?.url ?? ''),
        metrics: figures,
        limits,
        shares,
        tracing,
        // An author's module was not probed.
        lazy: development === undefined,
        onSwitch: (change: LiveChange | undefined) => watch.begin(development ? undefined : change),
        onPauseEnd: async () => {
          if (application !== undefined) await application.#heartbeats?.beat()
        },
        onFailure: (module: string) => watch.failed(module),
        quarantine: new Quarantine(config, storage, logger),
      }
      installed = await InstalledModules.start(parts, guard?.troubles)
      await remember(config, storage)
      await installed.removeFailing()
      events.wake()
      const supervisor = isWorker ? process.ppid : undefined
      const outliving = {
        metrics,
        limits,
        shares,
        tokens,
        tracing,
        events,
        watch,
        loop,
        closed,
        secrets,
        listener,
        supervisor,
      }
      application = new Application({ config, log: logger, storage, installed, ...outliving })
      signal?.throwIfAborted()
      await application.#listen({ port, host }, parent)
      await application.#control.ready()
      listener.serve(application.#control.routing)
      await installed.react()
      application.#watchLock()
      secrets.follow(tokens, application.#abandoned.signal)
      // After the control socket serves: a later record's author asks for the import.
      await importPendingRecords(directory, storage).catch((error) =>
        logger.warn(error, 'audit records of commands cannot be imported; they stay in .app'),
      )
      await application.#heartbeats?.beat()
      parent?.serves(drainSecondsOf(config))
      return application
    } catch (error) {
      guard?.release()
      if (application === undefined) loop.end()
      await (application?.close() ??
        Promise.all([events?.close(), tracing?.close()]).then(() => storage.close()))
      throw error
    }
  }

  /** The URL that it serves on, base path included. */
  get url(): string {
    return this.#url
  }

  /** Rejects if it must stop: a BrokenStorageError, or an uncaught error. End the process then. */
  get closed(): Promise<void> {
    return this.#parts.closed.promise
  }

  /** The configuration names another database, which a restart would use. */
  get hasMoved(): boolean {
    return this.#hold.hasMoved
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  state(): ApplicationState {
    const { generation, switches, modules } = this.installed
    const { supervisor } = this.#parts
    return {
      pid: process.pid,
      ...(supervisor !== undefined && { supervisor }),
      host: hostVersion,
      url: this.url,
      engine: this.#parts.storage.engine,
      generation,
      switches,
      loadedPackages: loadedPackages(storeDirectory(this.#parts.config.directory)),
      modules: modules.map(({ id, version, state, ...rest }) => ({
        ...{ id, version, state },
        ...('reason' in rest && { reason: rest.reason }),
        ...('until' in rest && { until: rest.until }),
        ...('since' in rest && { since: rest.since }),
      })),
    }
  }

  metrics(): Promise<MetricFamily[]> {
    const { storage, metrics, limits } = this.#parts
    return allMetrics({
      state: this.state(),
      storage,
      inFlight: this.installed.inFlight,
      shed: this.#admission.refused,
      refusedConnections: this.#connections.refused,
      endedConnections: this.#stalled.ended,
      counters: [metrics, ...(limits === undefined ? [] : [limits]), this.#process],
    })
  }

  /** This host as the other hosts of the database see it. */
  #self(): ServingHost {
    const { generation, served: modules } = this.installed
    return { machine: hostname(), pid: process.pid, url: this.url, version: hostVersion, generation, modules }
  }

  /** The application as operations see it. */
  #controlled(): RunningApplication {
    const self = () => this.#self()
    const { secrets } = this.#parts
    return {
      get config() {
        return secrets.config
      },
      renewSecrets: () => secrets.renew(),
      storage: this.#parts.storage,
      installed: this.installed,
      hosts: {
        get self() {
          return self()
        },
        others: async () => (await this.#heartbeats?.others()) ?? [],
      },
      hold: this.#hold,
      options: () => this.#options,
      state: () => this.state(),
      metrics: () => this.metrics(),
      settle: (generation, milliseconds) =>
        this.#parts.watch.settle(generation, milliseconds, this.installed.generation),
      notifyHosts: async () => await this.#heartbeats?.beat(),
    }
  }

  /** Like `close`, without cutting idle connections while a request may be on its way. */
  async leave(): Promise<void> {
    await this.#hangUp(LEAVE_TIMEOUT)
    await this.close()
  }

  /**
   * Stops as a service: `/health/ready` responds with 503 at once, while requests are accepted for
   * `drainSeconds`, so that a load balancer sends them elsewhere. Then like `close`. The first call
   * decides.
   * @param why for the log, for example the signal
   */
  stop(why: string, drainSeconds = drainSecondsOf(this.#parts.config)): Promise<void> {
    return this.#finish(() => this.#drain(why, drainSeconds))
  }

  /** Finishes requests in progress (10 s at most) and closes the database. Ends a drain. */
  close(): Promise<void> {
    this.#drained.abort()
    return this.#finish(async () => void (await this.#end()))
  }

  /** Like `close`, and cuts off requests in progress. */
  cut(): Promise<void> {
    this.#cut += this.installed.inFlight
    const closed = this.close()
    this.#server.closeAllConnections()
    return closed
  }

  #finish(end: () => Promise<void>): Promise<void> {
    if (this.#stopping === undefined) {
      const { resolve, reject } = this.#parts.closed
      this.#stopping = end()
      this.#stopping.then(() => (this.#failure === undefined ? resolve() : reject(this.#failure)), reject)
    }
    return this.#stopping
  }

  /** The database cannot be trusted any more. Requests in progress get a moment to respond. */
  #fail(error: Error): void {
    this.#failure = error
    this.#drained.abort()
    const ended = this.#finish(async () => {
      await this.#hangUp(LAST_REQUESTS)
      await this.#end()
    })
    ended.catch(() => {}) // `closed` reports it
  }

  async #listen({ port, host }: StartOptions, parent: Parent | undefined): Promise<void> {
    const { server, basePath } = this.#parts.config
    const wish = { port: port ?? server.port, host: host ?? server.host }
    const kept = parent?.socketFor(wish)
    if (kept === undefined) this.#server.listen({ ...wish, backlog: BACKLOG })
    else this.#server.listen(kept, BACKLOG)
    await once(this.#server, 'listening')
    parent?.keep(this.#server, wish)
    const { address, family, port: taken } = this.#server.address() as AddressInfo
    this.#url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}${basePath}`
    this.#options = { host, port: port === undefined ? undefined : taken }
  }

  /** A lock with migrations is left to a command, which takes a snapshot first. */
  #watchLock(): void {
    const { config, log } = this.#parts
    watchLockFile(config.directory, this.#abandoned.signal, async () => {
      if (this.isStopping) return
      try {
        await this.installed.activate({ probed: false })
        await this.#heartbeats?.beat()
      } catch (error) {
        log.error(
          error,
          'the changed modules.lock.json cannot be activated; the previous modules continue to serve',
        )
      }
    })
  }

  async #drain(why: string, drainSeconds: number): Promise<void> {
    const { finished: before } = this.installed
    this.#parts.log.info({ signal: why, drainSeconds }, stoppingMessage(why, drainSeconds))
    if (drainSeconds > 0) {
      await pause(drainSeconds * 1000, undefined, { signal: this.#drained.signal }).catch(() => {})
      if (!this.#drained.signal.aborted) await this.#hangUp(LAST_REQUESTS)
    }
    const cut = await this.#end()
    const finished = this.installed.finished - before
    this.#parts.log.info({ finished, cut }, `stopped: ${finished} requests finished, ${cut} cut off`)
  }

  /** Each connection ends after its next response; idle ones after `timeout` milliseconds. */
  async #hangUp(timeout: number): Promise<void> {
    const { promise: emptied, resolve } = Promise.withResolvers<void>()
    // http's own `close` would close idle connections.
    NetServer.prototype.close.call(this.#server, () => resolve())
    this.installed.dismiss()
    await settlesWithin(timeout, emptied)
  }

  /** @returns the number of requests that were cut off */
  async #end(): Promise<number> {
    try {
      return await this.#endServing()
    } finally {
      await this.#parts.storage.close()
      await this.#parts.listener.close()
      this.#parts.loop.end()
    }
  }

  async #endServing(): Promise<number> {
    const { listener } = this.#parts
    listener.hold()
    this.#abandoned.abort()
    for (const stop of this.#stopReporting) stop()
    this.#parts.watch.end()
    this.#process.stop()
    this.#server.close()
    this.#admission.open()
    const timeout = this.#failure === undefined ? DRAIN_TIMEOUT : LAST_REQUESTS
    await settlesWithin(
      timeout,
      Promise.all([listener.idle(), this.#control.close(), this.installed.close()]),
    )
    const cut = this.#cut + this.installed.inFlight
    this.#server.closeAllConnections()
    await Promise.all([
      this.#heartbeats?.stop(),
      this.#sharedCounts?.stop(),
      this.#parts.events.close(),
      this.#parts.tracing?.close(),
    ])
    return cut
  }
}

const walMessage = (file: string) =>
  `checkpoints fail: the write-ahead log cannot be copied into ${file}. Acknowledged writes are safe in ${file}-wal, which grows until this ends. Check the disk`

/** The metrics of all workers of the application in `directory`. */
async function metricsOfAll(directory: string): Promise<readonly MetricFamily[]> {
  const families = await callRunningHost(directory, 'metrics')
  if (families !== undefined) return families
  throw hostProblems.create('not-ready', 'No worker responds: try again.')
}
