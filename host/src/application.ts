import { watch } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createTokenVerifier } from './callers/tokens.ts'
import { type Config, placeOfDatabase, readConfig, tokenIssuers } from './config.ts'
import { type ApplicationState, startControlServer } from './control/control-server.ts'
import { createServer } from './http/server.ts'
import { createLogger } from './logger.ts'
import { guardProcess } from './modules/guard-process.ts'
import { InstalledModules } from './modules/installed-modules.ts'
import { loadedPackages } from './modules/load-plugin.ts'
import { lockFile, storeDirectory } from './modules/lock.ts'
import type { Environment } from './settings.ts'
import { openStorage } from './storage/open-storage.ts'
import type { Storage } from './storage/storage.ts'
import { hostVersion } from './version.ts'

/** How long requests in flight may take to finish once the application stops, in milliseconds. */
const DRAIN_TIMEOUT = 10_000
/** How long after the lock has changed on disk the host takes it up by itself: who changed it asks sooner. */
const WATCH_DELAY = 500

export interface ApplicationOptions {
  /** The application folder. */
  readonly directory: string
  /** Instead of the configured ones; port 0 is any free one. */
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly environment?: Environment | undefined
  /**
   * Whether the process is the application's alone. Modules are then kept from ending it, and `closed` rejects
   * for an error that nobody caught.
   */
  readonly ownsProcess?: boolean
}

/**
 * A running application: one process with one HTTP server, one database, one control socket, and the
 * modules that modules.lock.json names. All but the modules lives as long as the process.
 */
export class Application {
  readonly installed: InstalledModules
  readonly #config: Config
  readonly #log: FastifyBaseLogger
  readonly #storage: Storage
  readonly #server: Server
  readonly #closed: PromiseWithResolvers<void>
  readonly #abandoned = new AbortController()
  #control: FastifyInstance | undefined
  #stopping: Promise<void> | undefined

  private constructor(
    config: Config,
    log: FastifyBaseLogger,
    storage: Storage,
    installed: InstalledModules,
    closed: PromiseWithResolvers<void>,
  ) {
    this.#config = config
    this.#log = log
    this.#storage = storage
    this.installed = installed
    this.#closed = closed
    this.#server = createServer({
      maxConnections: config.server.maxConnections,
      listener: installed.listener,
    })
  }

  /**
   * Starts the host of an application folder. A module that cannot be activated is failed: its routes answer
   * 503, the others serve.
   *
   * @throws {ConfigError} where a setting or the lock is wrong
   * @throws {StorageBusyError} where another process has the database
   * @throws {Error} EADDRINUSE and the like, of the port
   */
  static async start({
    directory,
    port,
    host,
    environment,
    ownsProcess = false,
  }: ApplicationOptions): Promise<Application> {
    const config = await readConfig(directory, environment)
    const logger = createLogger(config.log)
    for (const name of config.unknownVariables) logger.warn(`${name} is no setting and has no effect`)
    const closed = Promise.withResolvers<void>()
    const storage = await openStorage({ ...placeOfDatabase(config), onFatal: closed.reject })
    let application: Application | undefined
    let installed: InstalledModules | undefined
    const guard = ownsProcess
      ? guardProcess({
          onTrouble: () => {
            installed
              ?.expel()
              .catch((error) => logger.error(error, 'a module could not be taken out of service'))
          },
          onUncaught: closed.reject,
          onUnhandled: (reason) =>
            logger.error({ err: reason }, 'a promise was rejected, and nobody noticed'),
        })
      : undefined
    closed.promise.catch(() => {}).finally(() => guard?.release())
    try {
      const notReady = () => {
        if (application?.isStopping) return 'the host is shutting down'
        return storage.trouble && 'the database cannot be reached'
      }
      const tokens = createTokenVerifier({ issuers: tokenIssuers(config), log: logger })
      installed = await InstalledModules.start({ config, logger, storage, tokens, notReady }, guard?.troubles)
      await installed.expel()
      application = new Application(config, logger, storage, installed, closed)
      await application.#listen(port ?? config.server.port, host ?? config.server.host)
      return application
    } catch (error) {
      guard?.release()
      await (application ? application.close() : storage.close())
      throw error
    }
  }

  /** The address it serves on, base path included. */
  get url(): string {
    const { address, family, port } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${this.#config.basePath}`
  }

  /**
   * Resolves when the application has stopped. Rejects where it has to: with a BrokenStorageError where the disk
   * cannot be trusted any more, with any other error that nobody caught. End the process then.
   */
  get closed(): Promise<void> {
    return this.#closed.promise
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
      generation,
      switches,
      loadedPackages: loadedPackages(storeDirectory(this.#config.directory)),
      modules: modules.map(({ id, version, state, ...rest }) =>
        'reason' in rest ? { id, version, state, reason: rest.reason } : { id, version, state },
      ),
    }
  }

  /** Stops accepting, finishes what is in flight (10 s at most), closes the database. */
  close(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #listen(port: number, host: string): Promise<void> {
    const { promise: listening, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen(port, host, resolve)
    await listening
    this.#server.off('error', reject)
    this.#control = await startControlServer(
      { installed: this.installed, storage: this.#storage, state: () => this.state() },
      this.#config,
      this.#log,
    )
    this.#watchLock()
  }

  /** Takes up a lock that changes without a word on the control socket: by `git pull`, say. */
  #watchLock(): void {
    const { directory } = this.#config
    const name = basename(lockFile(directory))
    let timer: NodeJS.Timeout | undefined
    watch(directory, { persistent: false, signal: this.#abandoned.signal }, (_event, file) => {
      if (file !== name) return
      clearTimeout(timer)
      timer = setTimeout(() => {
        if (this.isStopping) return
        this.installed.activate({ probed: false }).catch((error) => {
          this.#log.error(error, `the changed ${name} was not taken up; the former modules go on serving`)
        })
      }, WATCH_DELAY).unref()
    })
  }

  async #stop(): Promise<void> {
    this.#abandoned.abort()
    await this.#control?.close()
    this.#server.close()
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, DRAIN_TIMEOUT)
    await Promise.race([this.installed.close(), late])
    clearTimeout(timer)
    this.#server.closeAllConnections()
    await this.#storage.close()
    this.#closed.resolve()
  }
}
