import { unwatchFile, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import {
  type Config,
  loadEnvFile,
  nameOfDatabase,
  readConfig,
  readSecrets,
  rememberSecret,
  secretFile,
  tokenIssuers,
} from '@mortise/application'
import type { FastifyBaseLogger } from 'fastify'
import type { TokenVerifier } from '../callers/token-verifier.ts'

/** How often the file is polled, in milliseconds; `app secret rotate` asks at once. */
const INTERVAL = 5_000
/** The shortest time between two reads because of a wrong signature, in milliseconds. */
const PAUSE = 1_000

/**
 * The configuration of a running host, whose secrets follow `.app/secret`, and the credentials of its
 * database the settings.
 */
export class OwnSecrets {
  config: Config
  readonly #log: FastifyBaseLogger
  #tokens: TokenVerifier | undefined
  /** Why the settings could not be read the last time. */
  #unusable: string | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(config: Config, log: FastifyBaseLogger) {
    this.config = config
    this.#log = log
  }

  /** Verifies with the secrets of the file from now on, until `signal` aborts. */
  follow(tokens: TokenVerifier, signal: AbortSignal): void {
    this.#tokens = tokens
    const { directory, environment } = this.config
    if (environment.APP_SECRET !== undefined) return
    const file = secretFile(directory)
    const look = () => void this.#renewIfUsable()
    watchFile(file, { persistent: false, interval: INTERVAL }, look)
    signal.addEventListener('abort', () => unwatchFile(file, look))
  }

  /**
   * Reads the secrets again. A lost or broken file changes nothing.
   * @returns whether they differ
   * @throws {ConfigError} if the file is broken
   */
  async renew(): Promise<boolean> {
    const { directory, environment } = this.config
    this.#readAt = performance.now()
    const secrets = await readSecrets(directory, environment)
    const { secret, previousSecrets } = this.config
    if (secrets.secret === undefined || isDeepStrictEqual(secrets, { secret, previousSecrets })) return false
    this.config = { ...this.config, ...secrets }
    this.#tokens?.replace(tokenIssuers(this.config))
    this.#log.info('the secret of the application has changed; tokens are verified with the new one')
    await rememberSecret(this.config).catch((error) =>
      this.#log.warn(error, 'cannot write .app/identity.json'),
    )
    return true
  }

  /** For a token with a wrong signature, which a new secret may have made. */
  async renewForToken(): Promise<boolean> {
    return performance.now() - this.#readAt < PAUSE ? false : this.#renewIfUsable()
  }

  /**
   * Reads the URL of the database again, from `envFile` and app.config.json, after the server has
   * refused the user. Undefined if the settings cannot be used, or name another database.
   */
  async renewUrl(): Promise<string | undefined> {
    const { directory, environment, database } = this.config
    try {
      if (environment === process.env) await loadEnvFile(directory)
      const next = await readConfig(directory, environment)
      if (nameOfDatabase(next) !== nameOfDatabase(this.config)) return undefined
      if (next.database !== database) {
        this.config = { ...this.config, database: next.database }
        this.#log.info('the credentials of the database have changed; the host tries the new ones')
      }
      this.#unusable = undefined
      return next.database
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#unusable)
        this.#log.warn(error, 'the settings cannot be read again; the host keeps the previous ones')
      this.#unusable = message
      return undefined
    }
  }

  async #renewIfUsable(): Promise<boolean> {
    return this.renew().catch((error) => {
      this.#log.error(error, 'the secret in .app/secret cannot be used; the host keeps the previous one')
      return false
    })
  }
}
