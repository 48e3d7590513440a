import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import {
  drainSecondsOf,
  isLoaded,
  lockFilePath,
  remember,
  stoppingMessage,
  storeDirectory,
} from '@mortise/application'
import { AddressList } from '@mortise/module-sdk'
import type { FastifyInstance } from 'fastify'
import { signedInCaller } from './callers/signed-in-caller.ts'
import { allMetrics, type ModuleUsage } from './control/all-metrics.ts'
import type { ApplicationState } from './control/application-state.ts'
import { callRunningHost } from './control/call-running-host.ts'
import { ControlListener } from './control/control-listener.ts'
import { createControl } from './control/control-server.ts'
import type { RunningApplication, StartOptions } from './control/open-application.ts'
import type { Parent } from './control/supervisor/parent.ts'
import { MOVED } from './control/write-pause.ts'
import { importPendingRecords } from './events/import-records.ts'
import { HostHeartbeats } from './generations/host-heartbeats.ts'
import { InstalledModules } from './generations/installed-modules.ts'
import { Quarantine, quarantineFile } from './generations/quarantine.ts'
import type { ServingHost } from './generations/serving-host.ts'
import { watchForChange } from './generations/watch-for-change.ts'
import type { Admission } from './http/admission.ts'
import { connectionLimit } from './http/connection-limit.ts'
import type { Connections } from './http/http-connections.ts'
import { SharedCounts } from './http/limits/shared-counts.ts'
import { logDropped, logRefusedAddresses } from './http/log-dropped.ts'
import { hostProblems } from './http/problems.ts'
import { createServer } from './http/server.ts'
import type { StalledResponses } from './http/stalled-responses.ts'
import {
  type ApplicationOptions,
  type LastingParts,
  openLastingParts,
  type Serving,
} from './lasting-parts.ts'
import { loadedPackages } from './modules/load-plugin.ts'
import { Shutdown } from './shutdown.ts'
import { logRefusals } from './telemetry/log-refusals.ts'
import { ProcessMetrics } from './telemetry/process-metrics.ts'
import type { MetricFamily } from './telemetry/prometheus-format.ts'
import { settlesWithin } from './telemetry/settles-within.ts'
import { hostVersion } from './telemetry/version.ts'

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

/** A running application. All but its modules live as long as the process. */
export class Application implements Serving {
  readonly installed: InstalledModules
  readonly #parts: LastingParts
  readonly #listener: ControlListener
  readonly #shutdown: Shutdown
  /** The process that starts this one again as a worker. */
  readonly #supervisor: number | undefined
  readonly #server: Server
  readonly #admission: Admission
  readonly #connections: Connections
  readonly #stalled: StalledResponses
  readonly #sharedCounts: SharedCounts | undefined
  readonly #process = new ProcessMetrics()
  readonly #abandoned = new AbortController()
  readonly #control: FastifyInstance
  readonly #stopReporting: readonly (() => void)[]
  readonly #heartbeats: HostHeartbeats | undefined
  #options: StartOptions = {}
  #cut = 0

  private constructor(
    parts: LastingParts,
    installed: InstalledModules,
    listener: ControlListener,
    shutdown: Shutdown,
    supervisor: number | undefined,
  ) {
    this.#parts = parts
    this.installed = installed
    this.#listener = listener
    this.#shutdown = shutdown
    this.#supervisor = supervisor
    const { config, log, storage, limits, shares } = parts
    const { server, admission, connections, stalled } = createServer({
      maxConnections: connectionLimit(config.server.maxConnections, log),
      shares,
      proxies: new AddressList(config.server.trustProxy),
      onRefused: logRefusedAddresses(shares.most, log),
      maxRequests: config.server.maxRequests,
      maxRequestsPerModule: config.server.maxRequestsPerModule,
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
        // Not awaited: a switch writes a heartbeat.
        () => void this.#followQuarantine(),
      )
      if (limits !== undefined) this.#sharedCounts = new SharedCounts(storage, limits, log)
    }
    this.#stopReporting = [
      logRefusals(storage, log, 'writes', 'reads continue'),
      logRefusals(admission, log, 'requests', 'earlier requests continue'),
      logRefusals(storage.outage, log, 'reads and writes', 'the host is not ready'),
      logRefusals(
        storage.newConnections,
        log,
        'new connections',
        'the host serves on the open ones',
        'the database',
      ),
    ]
    this.#control = createControl(this.#controlled(), log)
    shutdown.endFailureBy(async () => {
      await this.#hangUp(LAST_REQUESTS)
      await this.#end()
    })
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
    const shutdown = new Shutdown()
    try {
      const serving = Promise.withResolvers<Application>()
      const parts = await openLastingParts(options, shutdown, serving.promise)
      const application = await Application.#withModules(options, parts, listener, shutdown, serving)
      try {
        options.signal?.throwIfAborted()
        await application.#serve(options)
      } catch (error) {
        await application.close()
        throw error
      }
      return application
    } catch (error) {
      shutdown.abandon(error)
      await listener.close()
      throw error
    }
  }

  static async #withModules(
    { directory, worker, development, command }: ApplicationOptions,
    parts: LastingParts,
    listener: ControlListener,
    shutdown: Shutdown,
    serving: PromiseWithResolvers<Application>,
  ): Promise<Application> {
    const { config, log, storage, metrics, watch } = parts
    const isWorker = worker !== undefined
    try {
      const installed = await InstalledModules.start(
        {
          ...parts,
          logger: log,
          notReady: () => notReady(parts, shutdown),
          hostsDiffer: async () => (await serving.promise).#heartbeats?.hostsDiffer === true,
          operated:
            command === undefined
              ? undefined
              : {
                  run: async (...given) =>
                    (await import('./control/run-command.ts')).runCommand(command, directory, ...given),
                  url: () => parts.address.url,
                },
          metrics: {
            requests: metrics.requests,
            read: async () => (isWorker ? metricsOfAll(directory) : (await serving.promise).metrics()),
          },
          // An author's module was not probed.
          lazy: development === undefined,
          onSwitch: (change) => watch.begin(development ? undefined : change),
          onPauseEnd: async () => (await serving.promise).notifyHosts(),
          onFailure: (module) => watch.failed(module),
          quarantine: new Quarantine(config, storage, log),
        },
        parts.guard?.troubles,
      )
      await remember(config, storage)
      await installed.removeFailing()
      parts.events.wake()
      const supervisor = isWorker ? process.ppid : undefined
      const application = new Application(parts, installed, listener, shutdown, supervisor)
      serving.resolve(application)
      return application
    } catch (error) {
      await parts.close()
      throw error
    }
  }

  /** Listens; then commands, other hosts and the parent may know. */
  async #serve({ port, host, parent }: ApplicationOptions): Promise<void> {
    const { config, log, storage, secrets, tokens } = this.#parts
    await this.#listen({ port, host }, parent)
    await this.#control.ready()
    this.#listener.serve(this.#control.routing)
    await this.installed.react()
    this.#watchLock()
    // What another host of this folder has decided.
    if (storage.isShared)
      watchForChange(quarantineFile(config.directory), this.#abandoned.signal, () => this.#followQuarantine())
    secrets.follow(tokens, this.#abandoned.signal)
    // After the control socket serves: a later record's author asks for the import.
    await importPendingRecords(config.directory, storage).catch((error) =>
      log.warn(error, 'audit records of commands cannot be imported; they stay in .app'),
    )
    await this.notifyHosts()
    parent?.serves(drainSecondsOf(config))
  }

  /** The URL that it serves on, base path included. */
  get url(): string {
    return this.#parts.address.url
  }

  /** Rejects if it must stop: a BrokenStorageError, or an uncaught error. End the process then. */
  get closed(): Promise<void> {
    return this.#shutdown.closed
  }

  /** The configuration names another database, which a restart would use. */
  get hasMoved(): boolean {
    return this.#parts.hold.hasMoved
  }

  get isStopping(): boolean {
    return this.#shutdown.isStopping
  }

  state(): ApplicationState {
    const { generation, switches, modules } = this.installed
    const supervisor = this.#supervisor
    const { refusal } = this.#parts.storage.newConnections
    return {
      pid: process.pid,
      ...(supervisor !== undefined && { supervisor }),
      host: hostVersion,
      url: this.url,
      engine: this.#parts.storage.engine,
      ...(refusal !== undefined && { refusedConnections: refusal }),
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
    const { config, storage, metrics, limits } = this.#parts
    return allMetrics({
      state: this.state(),
      storage,
      databaseFile: config.databaseFile,
      inFlight: this.installed.inFlight,
      shed: this.#admission.refused,
      usage: this.#usage(),
      refusedConnections: this.#connections.refused,
      endedConnections: this.#stalled.ended,
      counters: [metrics, ...(limits === undefined ? [] : [limits]), this.#process],
    })
  }

  async notifyHosts(): Promise<void> {
    await this.#heartbeats?.beat()
  }

  /** What each loaded module uses now. */
  #usage(): ModuleUsage[] {
    const { guard } = this.#parts
    return this.installed.modules.filter(isLoaded).map(({ id, directory }) => ({
      id,
      requests: this.#admission.modules.working(id),
      ...(guard && { sockets: guard.socketsOf(directory) }),
    }))
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
      hold: this.#parts.hold,
      options: () => this.#options,
      state: () => this.state(),
      metrics: () => this.metrics(),
      measure: () => this.#parts.loop.measure(),
      settle: (generation, milliseconds) =>
        this.#parts.watch.settle(generation, milliseconds, this.installed.generation),
      notifyHosts: () => this.notifyHosts(),
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
    return this.#shutdown.finish(() => this.#drain(why, drainSeconds))
  }

  /** Finishes requests in progress (10 s at most) and closes the database. Ends a drain. */
  close(): Promise<void> {
    this.#shutdown.skipDrain()
    return this.#shutdown.finish(async () => void (await this.#end()))
  }

  /** Like `close`, and cuts off requests in progress. */
  cut(): Promise<void> {
    this.#cut += this.installed.inFlight
    const closed = this.close()
    this.#server.closeAllConnections()
    return closed
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
    this.#parts.address.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}${basePath}`
    this.#options = { host, port: port === undefined ? undefined : taken }
  }

  async #followQuarantine(): Promise<void> {
    await this.installed
      .followQuarantine()
      .catch((error) => this.#parts.log.warn(error, 'the quarantine cannot be read'))
  }

  /** A lock with migrations is left to a command, which takes a snapshot first. */
  #watchLock(): void {
    const { config, log } = this.#parts
    watchForChange(lockFilePath(config.directory), this.#abandoned.signal, async () => {
      if (this.isStopping) return
      try {
        await this.installed.activate({ probed: false })
        await this.notifyHosts()
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
      const { drained } = this.#shutdown
      await pause(drainSeconds * 1000, undefined, { signal: drained }).catch(() => {})
      if (!drained.aborted) await this.#hangUp(LAST_REQUESTS)
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
      await this.#parts.close()
      await this.#listener.close()
    }
  }

  async #endServing(): Promise<number> {
    this.#listener.hold()
    this.#abandoned.abort()
    for (const stop of this.#stopReporting) stop()
    this.#parts.watch.end()
    this.#process.stop()
    this.#server.close()
    this.#admission.open()
    const timeout = this.#shutdown.failure === undefined ? DRAIN_TIMEOUT : LAST_REQUESTS
    await settlesWithin(
      timeout,
      Promise.all([this.#listener.idle(), this.#control.close(), this.installed.close()]),
    )
    const cut = this.#cut + this.installed.inFlight
    this.#server.closeAllConnections()
    await Promise.all([this.#heartbeats?.stop(), this.#sharedCounts?.stop()])
    return cut
  }
}

/** The reason why `/health/ready` responds with 503; undefined if it does not. */
function notReady({ hold, storage }: LastingParts, shutdown: Shutdown): string | undefined {
  if (shutdown.isStopping) return 'the host is shutting down'
  if (hold.hasMoved) return MOVED
  if (storage.trouble) return 'the database cannot be reached'
  if (storage.wal?.failure && storage.wal.bytes > WAL_LIMIT)
    return 'checkpoints fail, and the write-ahead log is larger than 64 MiB'
  return undefined
}

/** The metrics of all workers of the application in `directory`. */
async function metricsOfAll(directory: string): Promise<readonly MetricFamily[]> {
  const families = await callRunningHost(directory, 'metrics')
  if (families !== undefined) return families
  throw hostProblems.create('not-ready', 'No worker responds: try again.')
}
