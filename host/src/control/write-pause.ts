import { readFile, realpath } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { type Config, ConfigError, configFile } from '@mortise/application'
import { replaceFile, type Storage } from '@mortise/storage'

/** How long the holder may give no sign of life, in seconds in which this process runs. */
const SILENCE = 30

const MOVING = 'the data move to another database'
export const MOVED = 'the data have moved to another database, for which the host must restart'

/**
 * Pauses writes while the data move to another database. The pause lasts as long as the holder's
 * connection and its signs of life, so neither a killed nor a stopped holder blocks writes. After
 * the configuration names the other database, which only this host can do, the pause lasts to the
 * end of the process: no write may stay behind.
 */
export class WritePause {
  readonly #storage: Storage
  readonly #config: Config
  #holder: ServerResponse | undefined
  #moved = false
  #silentFor = 0

  constructor(storage: Storage, config: Config) {
    this.#storage = storage
    this.#config = config
  }

  /** The configuration names another database: the pause lasts to the end. */
  get hasMoved(): boolean {
    return this.#moved
  }

  /** @throws {ConfigError} if the host has another database, or would have after a restart */
  async begin(file: string, holder: ServerResponse): Promise<void> {
    let isGone = false
    holder.once('close', () => {
      isGone = true
      if (this.#holder !== holder) return
      this.#holder = undefined
      if (!this.#moved) this.#storage.release()
    })
    const { databaseFile, environment } = this.#config
    if (environment.APP_DATABASE !== undefined) {
      throw new ConfigError(
        'the running host has its database from APP_DATABASE, which overrides app.config.json: write the database into app.config.json, unset the variable, and restart the host',
      )
    }
    if (databaseFile === undefined || (await realpath(databaseFile)) !== (await realpath(file))) {
      throw new ConfigError(
        `the running host does not use ${file}, the database in app.config.json: restart it first`,
      )
    }
    if (this.#moved) throw new ConfigError('the data have already moved: restart the host')
    if (this.#holder !== undefined) throw new ConfigError('another command moves the data')
    if (isGone) return
    this.#holder = holder
    await this.#storage.hold(MOVING)
    this.#silentFor = 0
    const timer = setInterval(() => {
      this.#silentFor += 1
      if (this.#silentFor >= SILENCE) holder.destroy()
    }, 1_000).unref()
    holder.once('close', () => clearInterval(timer))
    holder.writeHead(200, { 'content-type': 'application/json' }).write('{}\n')
  }

  /**
   * A sign of life from the holder.
   * @param left the seconds that the move still takes, if known
   * @throws {ConfigError} if writes are not paused: what was copied since may lack some
   */
  async keep(left?: number): Promise<void> {
    if (this.#holder === undefined) throw new ConfigError('the write pause has ended')
    this.#silentFor = 0
    if (!this.#moved) await this.#storage.hold(MOVING, left)
  }

  /** @throws {ConfigError} if writes are not paused, or the configuration has changed meanwhile */
  async moveTo(previous: string, next: string): Promise<void> {
    const file = await realpath(configFile(this.#config.directory))
    if (this.#holder === undefined) throw new ConfigError('the write pause has ended')
    this.#moved = true
    try {
      if (!(await replaceFile(file, previous, next)))
        throw new ConfigError('app.config.json has changed meanwhile')
      await this.#storage.hold(MOVED)
    } catch (error) {
      // Even if the write failed, the file's content decides, as it does for the next start.
      this.#moved = (await readFile(file, 'utf8').catch(() => next)) === next
      if (!this.#moved && this.#holder === undefined) this.#storage.release()
      throw error
    }
  }

  /** Releases the holder: the host stops. */
  end(): void {
    this.#holder?.end()
  }
}
