import { readFile, realpath } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { replaceFile, type Storage } from '@mortise/storage'
import { type Config, configFile } from '../config/config.ts'
import { ConfigError } from '../config/settings.ts'

/** How long a holder may give no sign of life, in seconds in which this process runs. */
const SILENCE = 30

/**
 * Keeps the host from writing while its data move to another database. It lasts as long as the connection of who asked
 * for it, so one that is killed holds up nobody, and as long as that says that it is at work, so one that is stopped does not
 * either. Once the configuration names the other database, which only this host
 * brings about, it lasts to the end of the process: nothing is written that would stay behind.
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

  /** Whether the configuration names another database by now: writes are held to the end. */
  get hasMoved(): boolean {
    return this.#moved
  }

  /** @throws {ConfigError} where the host has another database, or would have after a restart */
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
        'the running host has its database from APP_DATABASE, which wins over app.config.json: write it into the file, unset the variable, and restart the host',
      )
    }
    if (databaseFile === undefined || (await realpath(databaseFile)) !== (await realpath(file))) {
      throw new ConfigError(
        `the running host has another database than ${file}, which app.config.json names by now: restart it first`,
      )
    }
    if (this.#moved) throw new ConfigError('the data have moved already: restart the host')
    if (this.#holder !== undefined) throw new ConfigError('another command is moving the data')
    if (isGone) return
    this.#holder = holder
    await this.#storage.hold()
    this.#silentFor = 0
    const timer = setInterval(() => {
      this.#silentFor += 1
      if (this.#silentFor >= SILENCE) holder.destroy()
    }, 1_000).unref()
    holder.once('close', () => clearInterval(timer))
    holder.writeHead(200, { 'content-type': 'application/json' }).write('{}\n')
  }

  /** The holder is at work. */
  keep(): void {
    this.#silentFor = 0
  }

  /** @throws {ConfigError} where writes are not held, or somebody has changed the configuration meanwhile */
  async moveTo(former: string, next: string): Promise<void> {
    const file = await realpath(configFile(this.#config.directory))
    if (this.#holder === undefined) throw new ConfigError('writes are not held any more')
    this.#moved = true
    try {
      if (!(await replaceFile(file, former, next)))
        throw new ConfigError('app.config.json has changed meanwhile')
    } catch (error) {
      // Written or not: what is there decides, also for who starts next.
      this.#moved = (await readFile(file, 'utf8').catch(() => next)) === next
      if (!this.#moved && this.#holder === undefined) this.#storage.release()
      throw error
    }
  }

  /** Lets go of who holds: the host stops. */
  end(): void {
    this.#holder?.end()
  }
}
