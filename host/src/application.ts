import { unwatchFile, watch, watchFile } from 'node:fs'
import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { hostname } from 'node:os'
import { basename } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { AddressList } from '@mortise/module-sdk'
import type { Storage } from '@mortise/storage'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createTokenVerifier } from './callers/tokens.ts'
import { type Config, readConfig, tokenIssuers } from './config/config.ts'
import { drainSecondsOf, stoppingMessage } from './config/drain-seconds.ts'
import { assertOwnSecret, readIdentity, remember } from './config/identity.ts'
import type { Environment } from './config/settings.ts'
import { hostVersion } from './config/version.ts'
import { applicationMetrics } from './control/application-metrics.ts'
import type { ApplicationState } from './control/application-state.ts'
import { callRunningHost } from './control/call-running-host.ts'
import { createControl } from './control/control-server.ts'
import { assertNoHost, openControlSocket } from './control/control-socket.ts'
import type { RunningApplication } from './control/open-application.ts'
import { openApplicationStorage } from './control/open-application-storage.ts'
import type { ControlRequest, ControlResponse } from './control/pool.ts'
import { WritePause } from './control/write-pause.ts'
import { eventHandlerMetrics } from './events/event-handler-metrics.ts'
import { EventLog } from './events/event-log.ts'
import { importPendingRecords } from './events/pending-records.ts'
import { ChangeWatch } from './generations/change-watch.ts'
import { withUnknownRoutes } from './generations/create-host.ts'
import { HostHeartbeats } from './generations/host-heartbeats.ts'
import { InstalledModules } from './generations/installed-modules.ts'
import type { ServingHost } from './generations/serving-host.ts'
import type { LiveChange } from './generations/settling.ts'
import type { Admission } from './http/admission.ts'
import { connectionLimit } from './http/connection-limit.ts'
import type { Connections } from './http/http-connections.ts'
import { ConcurrencyLimit } from './http/limits/concurrency-limit.ts'
import { RateLimits } from './http/limits/rate-limits.ts'
import { SharedCounts } from './http/limits/shared-counts.ts'
import { logDropped, logRefusedAddresses } from './http/log-dropped.ts'
import { hostProblems } from './http/problems.ts'
import { createServer } from './http/server.ts'
import type { StalledResponses } from './http/stalled-responses.ts'
import { guardProcess } from './modules/guard-process.ts'
import { loadedPackages } from './modules/load-plugin.ts'
import { lockFilePath, storeDirectory } from './modules/lock-file.ts'
import { connectionMetrics } from './telemetry/connection-metrics.ts'
import { logRefusals } from './telemetry/log-refusals.ts'
import { createLogger } from './telemetry/logger.ts'
import type { MetricFamily } from './telemetry/metric-family.ts'
import { Metrics } from './telemetry/metrics.ts'
import { openTracing } from './telemetry/open-tracing.ts'
import { ProcessMetrics } from './telemetry/process-metrics.ts'
import { settlesWithin } from './telemetry/settles-within.ts'
import type { Tracing } from './telemetry/tracing.ts'

/** How long requests in progress may take after a stop, in milliseconds. */
const DRAIN_TIMEOUT = 10_000
/**
 * How long after a change of the lock file on disk the host adopts it, in milliseconds; a command
 * asks for it sooner.
 */
const WATCH_DELAY = 500
/**
 * How often the lock file is polled, in milliseconds: a shared folder does not report changes from
 * other machines.
 */
const LOOK_INTERVAL = 5_000
/**
 * How long idle connections stay open when a process leaves, in milliseconds: longer than their
 * usual limit.
 */
const LEAVE_TIMEOUT = 15_000
/** The same after a drain, in milliseconds: requests just sent still get a response. */
const LAST_REQUESTS = 1_000

/**
 * Length of the accept queue. Node's own 511 drops connections of a crowd, which retry a second
 * later.
 */
const BACKLOG = 4_096
/**
 * The size of the write-ahead log, in bytes, from which on the host is not ready if checkpoints
 * fail.
 */
const WAL_LIMIT = 64 * 1024 * 1024

const MOVED = 'its data have moved to another database, and it waits for its restart'

export interface ApplicationOptions {
  /** The application folder. */
  readonly directory: string
  /** Overrides the configured port; 0 means any free one. */
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly environment?: Environment | undefined
  /**
   * The process belongs to the application alone. Then modules cannot end it, and `closed` rejects
   * for an uncaught error.
   */
  readonly ownsProcess?: boolean
  /** The process is a worker: its parent has the control socket and calls `answer`. */
  readonly isWorker?: boolean
  /** Cancels the start until something is served; no effect afterwards. */
  readonly signal?: AbortSignal | undefined
}

/** Counters and reporters that outlive generations. */
interface Outliving {
  readonly metrics: Metrics
  readonly limits: RateLimits | undefined
  readonly shares: ConcurrencyLimit
  readonly tracing: Tracing | undefined
  readonly events: EventLog
}

/**
 * A running application: one process with one HTTP server, one database, one control socket, and
 * the modules of modules.lock.json. All but the modules live as long as the process.
 */
export class Application {
  readonly installed: InstalledModules
  readonly #config: Config
  readonly #log: FastifyBaseLogger
  readonly #storage: Storage
  readonly #server: Server
  readonly #admission: Admission
  readonly #connections: Connections
  readonly #stalled: StalledResponses
  readonly #metrics: Metrics
  readonly #limits: RateLimits | undefined
  readonly #sharedCounts: SharedCounts | undefined
  readonly #tracing: Tracing | undefined
  readonly #events: EventLog
  readonly #process = new ProcessMetrics()
  readonly #closed: PromiseWithResolvers<void>
  readonly #abandoned = new AbortController()
  readonly #drained = new AbortController()
  readonly #control: FastifyInstance
  readonly #hold: WritePause
  readonly #stopTelling: () => void
  readonly #rollCall: HostHeartbeats | undefined
  readonly #watch: ChangeWatch
  /** The number of silent processes in the parent's last message. */
  silentWorkers = 0
  #url = ''
  #cut = 0
  #stopping: Promise<void> | undefined
  #failure: Error | undefined

  private constructor(
    config: Config,
    log: FastifyBaseLogger,
    storage: Storage,
    installed: InstalledModules,
    { metrics, limits, shares, tracing, events }: Outliving,
    closed: PromiseWithResolvers<void>,
    watch: ChangeWatch,
  ) {
    this.#watch = watch
    this.#config = config
    this.#log = log
    this.#storage = storage
    this.installed = installed
    this.#metrics = metrics
    this.#limits = limits
    this.#tracing = tracing
    this.#events = events
    this.#closed = closed
    const { server, admission, connections, stalled } = createServer({
      maxConnections: connectionLimit(config.server.maxConnections, log),
      shares,
      proxies: new AddressList(config.server.trustProxy),
      onRefused: logRefusedAddresses(shares.most, log),
      maxRequests: config.server.maxRequests,
      basePath: config.basePath,
      listener: installed.listener,
    })
    logDropped(server, log)
    this.#server = server
    this.#admission = admission
    this.#connections = connections
    this.#stalled = stalled
    if (storage.engine === 'postgres') {
      this.#rollCall = new HostHeartbeats(storage, () => this.#self(), log)
      if (limits !== undefined) this.#sharedCounts = new SharedCounts(storage, limits, log)
    }
    this.#hold = new WritePause(storage, config)
    const stops = [
      logRefusals(this, log, 'writes', 'reads go on'),
      logRefusals(admission, log, 'requests', 'those before them are answered'),
      logRefusals(storage.outage, log, 'reads and writes', 'the host is not ready'),
    ]
    this.#stopTelling = () => {
      for (const stop of stops) stop()
    }
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
  static async start({
    directory,
    port,
    host,
    environment,
    ownsProcess = false,
    isWorker = false,
    signal,
  }: ApplicationOptions): Promise<Application> {
    const config = await readConfig(directory, environment)
    if (!isWorker) await assertNoHost(directory)
    const logger = createLogger(config.log)
    for (const name of config.unknownVariables) logger.warn(`${name} is no setting and has no effect`)
    const closed = Promise.withResolvers<void>()
    const limits = config.rateLimit.max === 0 ? undefined : new RateLimits(config.rateLimit)
    const shares = new ConcurrencyLimit(config.server.maxConnectionsPerAddress)
    const metrics = new Metrics()
    assertOwnSecret(config, await readIdentity(directory))
    let application: Application | undefined
    const storage = await openApplicationStorage(config, {
      onFatal: (error) => (application === undefined ? closed.reject(error) : application.#fail(error)),
      onCheckpoint: (failure) => {
        if (failure === undefined) logger.info('the write-ahead log is written back into the database again')
        else logger.error(failure, walMessage(config.databaseFile ?? ''))
      },
      observer: metrics,
      keepFree: { bytes: config.storage.minFreeBytes },
    })
    let installed: InstalledModules | undefined
    let tracing: Tracing | undefined
    let events: EventLog | undefined
    const watch = new ChangeWatch({
      directory,
      log: logger,
      expel: async () => installed?.expel(),
      async serve(lock, change) {
        await installed?.serveFormer(lock, change)
        if (application !== undefined) await application.#rollCall?.call()
        await importPendingRecords(directory, storage)
      },
    })
    const guard = ownsProcess
      ? guardProcess({
          onTrouble: (folder) => {
            const reason = guard?.troubles.get(folder) ?? ''
            watch
              .leaveTrouble(folder, reason)
              .catch((error) => logger.error(error, 'a module could not be taken out of service'))
          },
          onUncaught: closed.reject,
          onUnhandled: (reason) =>
            logger.error({ err: reason }, 'a promise was rejected, and nobody noticed'),
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
          return 'the write-ahead log cannot be written back into the database, and is larger than 64 MiB'
        const missing = withUnknownRoutes(installed?.modules ?? [])
        return missing.length > 0 ? `packages are missing in the store: ${missing.join(', ')}` : undefined
      }
      const tokens = createTokenVerifier({ issuers: tokenIssuers(config), log: logger })
      const silentWorkers = () => application?.silentWorkers ?? 0
      const hostsDiffer = () => application !== undefined && application.#rollCall?.hostsDiffer === true
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
        silentWorkers,
        hostsDiffer,
        metrics: figures,
        limits,
        shares,
        tracing,
        onSwitch: (change: LiveChange | undefined) => watch.begin(change),
        onFailure: (module: string) => watch.failed(module),
      }
      installed = await InstalledModules.start(parts, guard?.troubles)
      await remember(config, storage)
      await installed.expel()
      events.wake()
      const outliving = { metrics, limits, shares, tracing, events }
      application = new Application(config, logger, storage, installed, outliving, closed, watch)
      signal?.throwIfAborted()
      await application.#listen(port ?? config.server.port, host ?? config.server.host)
      if (!isWorker) await openControlSocket(application.#control, directory)
      await installed.react()
      application.#watchLock()
      // After the control socket opens: a later record's author finds the socket and asks for the
      // import.
      await importPendingRecords(directory, storage).catch((error) =>
        logger.warn(error, 'what commands have left for the audit trail could not be taken in; it is kept'),
      )
      await application.#rollCall?.call()
      return application
    } catch (error) {
      guard?.release()
      await (application?.close() ??
        Promise.all([events?.close(), tracing?.close()]).then(() => storage.close()))
      throw error
    }
  }

  /** The URL that it serves on, base path included. */
  get url(): string {
    return this.#url
  }

  /**
   * Resolves when the application has stopped. Rejects if it must stop: with a BrokenStorageError
   * if the disk cannot be trusted any more, or with an uncaught error. End the process then.
   */
  get closed(): Promise<void> {
    return this.#closed.promise
  }

  /** The configuration names another database, which a restart would use. */
  get hasMoved(): boolean {
    return this.#hold.hasMoved
  }

  /** The reason why writes are refused now; undefined otherwise. */
  get refusal(): string | undefined {
    return this.hasMoved ? MOVED : this.#storage.refusal
  }

  /** Writes refused for that reason. */
  get refused(): number {
    return this.#storage.refused
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined
  }

  state(): ApplicationState {
    const { generation, switches, modules } = this.installed
    return {
      pid: process.pid,
      host: hostVersion,
      url: this.url,
      engine: this.#storage.engine,
      generation,
      switches,
      loadedPackages: loadedPackages(storeDirectory(this.#config.directory)),
      modules: modules.map(({ id, version, state, ...rest }) =>
        'reason' in rest ? { id, version, state, reason: rest.reason } : { id, version, state },
      ),
    }
  }

  /** The metrics of this process. */
  async metrics(): Promise<MetricFamily[]> {
    const state = this.state()
    const active = state.modules.filter((module) => module.state === 'active').map(({ id }) => id)
    return [
      ...applicationMetrics(state, this.installed.inFlight, this.#admission.refused, this.#storage),
      ...connectionMetrics(this.#connections.refused, this.#stalled.ended),
      ...(await eventHandlerMetrics(this.#storage, new Set(active))),
      ...this.#metrics.families(),
      ...(this.#limits === undefined ? [] : [this.#limits.family()]),
      ...this.#process.families(),
    ]
  }

  /** This host as the other hosts of the database see it. */
  #self(): ServingHost {
    const { generation, served: modules } = this.installed
    return { machine: hostname(), pid: process.pid, url: this.url, version: hostVersion, generation, modules }
  }

  /** The application as operations see it. */
  #controlled(): RunningApplication {
    const self = () => this.#self()
    return {
      config: this.#config,
      storage: this.#storage,
      installed: this.installed,
      hosts: {
        get self() {
          return self()
        },
        others: async () => (await this.#rollCall?.others()) ?? [],
      },
      hold: this.#hold,
      state: () => this.state(),
      metrics: () => this.metrics(),
      settle: (generation, milliseconds) =>
        this.#watch.settle(generation, milliseconds, this.installed.generation),
      tellHosts: async () => await this.#rollCall?.call(),
    }
  }

  /** The response of the control socket. */
  async answer({ method, path, body }: ControlRequest): Promise<ControlResponse> {
    const { statusCode, payload } = await this.#control.inject({
      method,
      url: path,
      ...(method === 'POST' && { payload: (body ?? {}) as object }),
    })
    return { status: statusCode, body: JSON.parse(payload) }
  }

  /**
   * Leaves the port to other processes. Like `close`, but it does not cut idle connections while a
   * request may be on its way: a connection ends after its next response, or at the idle limit.
   */
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
  stop(why: string, drainSeconds = drainSecondsOf(this.#config)): Promise<void> {
    return this.#finish(() => this.#drain(why, drainSeconds))
  }

  /**
   * Stops accepting, finishes requests in progress (10 s at most), closes the database. Ends a
   * drain.
   */
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
      this.#stopping = end()
      this.#stopping.then(
        () => (this.#failure === undefined ? this.#closed.resolve() : this.#closed.reject(this.#failure)),
        this.#closed.reject,
      )
    }
    return this.#stopping
  }

  /**
   * Stops because the database cannot be trusted any more. Requests in progress get a moment for
   * their response.
   */
  #fail(error: Error): void {
    this.#failure = error
    this.#drained.abort()
    const end = async () => {
      await this.#hangUp(LAST_REQUESTS)
      await this.#end()
    }
    this.#finish(end).catch(() => {}) // `closed` reports it
  }

  async #listen(port: number, host: string): Promise<void> {
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen({ port, host, backlog: BACKLOG }, resolve)
    await listening
    this.#server.off('error', reject)
    const { address, family, port: taken } = this.#server.address() as AddressInfo
    this.#url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}${this.#config.basePath}`
  }

  /**
   * Adopts a lock file that changes without a command, for example by `git pull`. A lock with
   * migrations is left to a command, which takes a snapshot first.
   */
  #watchLock(): void {
    const { directory } = this.#config
    const name = basename(lockFilePath(directory))
    let timer: NodeJS.Timeout | undefined
    const takeUp = () => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (this.isStopping) return
        this.installed.activate({ probed: false }).then(
          () => this.#rollCall?.call(),
          (error) =>
            this.#log.error(error, `the changed ${name} was not taken up; the former modules go on serving`),
        )
      }, WATCH_DELAY).unref()
    }
    const { signal } = this.#abandoned
    try {
      const watcher = watch(directory, { persistent: false, signal }, (_event, file) => {
        if (file === name) takeUp()
      })
      watcher.on('error', () => {})
    } catch {
      // The system has no more watches (EMFILE, ENOSPC): polls the file instead.
    }
    watchFile(lockFilePath(directory), { persistent: false, interval: LOOK_INTERVAL }, takeUp)
    signal.addEventListener('abort', () => unwatchFile(lockFilePath(directory), takeUp))
  }

  async #drain(why: string, drainSeconds: number): Promise<void> {
    const { finished: before } = this.installed
    this.#log.info({ signal: why, drainSeconds }, stoppingMessage(why, drainSeconds))
    if (drainSeconds > 0) {
      await pause(drainSeconds * 1000, undefined, { signal: this.#drained.signal }).catch(() => {})
      if (!this.#drained.signal.aborted) await this.#hangUp(LAST_REQUESTS)
    }
    const cut = await this.#end()
    const finished = this.installed.finished - before
    this.#log.info({ finished, cut }, `stopped: ${finished} requests were finished, ${cut} were cut off`)
  }

  /**
   * Stops accepting. Each connection ends after its next response; idle ones stay open for up to
   * `timeout` milliseconds.
   */
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
      await this.#storage.close()
    }
  }

  async #endServing(): Promise<number> {
    this.#abandoned.abort()
    this.#stopTelling()
    this.#watch.end()
    this.#process.stop()
    this.#server.close()
    this.#admission.open()
    const timeout = this.#failure === undefined ? DRAIN_TIMEOUT : LAST_REQUESTS
    await settlesWithin(timeout, Promise.all([this.#control.close(), this.installed.close()]))
    const cut = this.#cut + this.installed.inFlight
    this.#server.closeAllConnections()
    await Promise.all([
      this.#rollCall?.stop(),
      this.#sharedCounts?.stop(),
      this.#events.close(),
      this.#tracing?.close(),
    ])
    return cut
  }
}

const walMessage = (file: string) =>
  `the write-ahead log cannot be written back into ${file}. What was acknowledged is safe in ${file}-wal, which grows, and the next start finds it there. Check the disk`

/** The metrics of all processes of the application in `directory`, collected by their parent. */
async function metricsOfAll(directory: string): Promise<readonly MetricFamily[]> {
  const families = await callRunningHost(directory, 'metrics')
  if (families !== undefined) return families
  throw hostProblems.create('not-ready', 'The parent of the processes that serve cannot be asked just now.')
}
