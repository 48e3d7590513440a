import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk/transaction'
import { isWithoutRoom } from './database-error.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/** During an outage calls fail at once, and connections are tried until one succeeds. */
export class Reachability {
  readonly #connect: () => Promise<void>
  readonly #closed = new AbortController()
  #trouble: string | undefined
  #looking: Promise<void> | undefined

  /** @param connect makes a connection and closes it again; rejects if that fails */
  constructor(connect: () => Promise<void>) {
    this.#connect = connect
  }

  /** The reason why the server is unreachable; undefined otherwise. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** @throws {DatabaseError} `unavailable` during an outage */
  assert(): void {
    if (this.#trouble !== undefined) throw new DatabaseError('unavailable', this.#trouble)
  }

  /** Call it when a connection has broken: it tries new ones, and resolves once one succeeds. */
  suspect(): Promise<void> {
    this.#looking ??= this.#look()
    return this.#looking
  }

  /** Call it when a connection could not be made. */
  failed(error: Error): DatabaseError {
    this.#trouble = troubleOf(error)
    this.suspect()
    return new DatabaseError('unavailable', this.#trouble, { cause: error })
  }

  async close(): Promise<void> {
    this.#closed.abort()
    await this.#looking
  }

  async #look(): Promise<void> {
    const { signal } = this.#closed
    for (let wait = FIRST_PAUSE_MS; !signal.aborted; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.#connect()
        this.#trouble = undefined
        // Together with the line above: the next failure must start a new check.
        this.#looking = undefined
        return
      } catch (error) {
        this.#trouble = troubleOf(error as Error)
      }
      // Random, so that several hosts do not retry at once.
      await pause(wait * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
    }
  }
}

function troubleOf(error: Error): string {
  const advice = isWithoutRoom(error) ? ': raise max_connections, or lower connection_limit of the hosts' : ''
  return `the database cannot be reached: ${error.message}${advice}`
}
