import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { adviceOn, isRefused } from './database-error.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

interface ReachabilityOptions {
  /** Makes a connection and closes it again; rejects if that fails. */
  readonly connect: () => Promise<void>
  /** Whether the open connections work although a new one failed. */
  readonly serves: (error: unknown) => Promise<boolean>
  /** Called once a connection succeeds. */
  readonly onSuccess: () => void
}

/**
 * During an outage calls fail at once, and connections are tried until one succeeds. A server that
 * refuses new connections while the open ones work is no outage: they serve, and new ones are tried.
 */
export class Reachability {
  readonly #options: ReachabilityOptions
  readonly #closed = new AbortController()
  #trouble: string | undefined
  #refusal: string | undefined
  #looking: Promise<void> | undefined
  #responded = Promise.withResolvers<void>()
  #hurry = new AbortController()

  constructor(options: ReachabilityOptions) {
    this.#options = options
  }

  /** The reason why the server is unreachable; undefined otherwise. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** The reason why new connections fail while the open ones work; undefined otherwise. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** @throws {DatabaseError} `unavailable` during an outage */
  assert(): void {
    if (this.#trouble !== undefined) throw new DatabaseError('unavailable', this.#trouble)
  }

  /** Call it when a connection has broken: it tries new ones, and resolves once the server responds. */
  suspect(): Promise<void> {
    if (this.#refusal !== undefined) this.#hurry.abort()
    this.#looking ??= this.#look()
    return this.#responded.promise
  }

  /** Call it when a connection could not be made. Undefined if the open ones serve meanwhile. */
  async failed(error: Error): Promise<DatabaseError | undefined> {
    const serves = await this.#options.serves(error)
    return serves ? this.#degraded(error) : this.away(error)
  }

  /** Call it when the server does not respond. */
  away(error: Error): DatabaseError {
    this.#refusal = undefined
    this.#trouble = troubleOf(error)
    this.#looking ??= this.#look()
    return new DatabaseError('unavailable', this.#trouble, { cause: error })
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#looking
  }

  #degraded(error: Error): undefined {
    this.#trouble = undefined
    this.#refusal = troubleOf(error)
    this.#looking ??= this.#look()
  }

  async #look(): Promise<void> {
    const { signal } = this.#closed
    for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
      this.#hurry = new AbortController()
      try {
        await this.#options.connect()
        this.#trouble = undefined
        this.#refusal = undefined
        // Together with the lines above: the next failure must start a new check.
        this.#looking = undefined
        this.#respond()
        this.#options.onSuccess()
        return
      } catch (error) {
        if ((await this.failed(error as Error)) === undefined) this.#respond()
      }
      // Random, so that several hosts do not retry at once.
      const until = AbortSignal.any([signal, this.#hurry.signal])
      await pause(wait * (0.5 + Math.random() / 2), undefined, { signal: until }).catch(() => {})
    }
  }

  #respond(): void {
    this.#responded.resolve()
    this.#responded = Promise.withResolvers()
  }
}

/** One sentence, with what to do if the server says what is wrong. */
export function troubleOf(error: Error): string {
  const advice = adviceOn(error)
  const what = isRefused(error) ? 'the database refuses the connection' : 'the database cannot be reached'
  return `${what}: ${error.message}${advice && `: ${advice}`}`
}
