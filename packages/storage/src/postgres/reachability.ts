import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '@mortise/module-sdk'
import { isFull } from './too-many-connections.ts'

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 1_000

/**
 * Whether the server can be reached. While it cannot, nothing waits for it: what is asked fails at once, and a
 * connection is tried again and again until one is made.
 */
export class Reachability {
  readonly #connect: () => Promise<void>
  readonly #closed = new AbortController()
  #trouble: string | undefined
  #looking: Promise<void> | undefined

  /** @param connect makes a connection and gives it up again; rejects where that cannot be done */
  constructor(connect: () => Promise<void>) {
    this.#connect = connect
  }

  /** Why it cannot be reached; undefined while it can. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  /** @throws {DatabaseError} `unavailable` while the server cannot be reached */
  assert(): void {
    if (this.#trouble !== undefined) throw new DatabaseError('unavailable', this.#trouble)
  }

  /** To be called when a connection has broken: looks whether others can be made, and resolves once one can. */
  suspect(): Promise<void> {
    this.#looking ??= this.#look()
    return this.#looking
  }

  /** To be called when a connection could not be made. */
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
        // At once with the above: whoever fails from now on has to look again.
        this.#looking = undefined
        return
      } catch (error) {
        this.#trouble = troubleOf(error as Error)
      }
      // Several hosts do not all knock at once.
      await pause(wait * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
    }
  }
}

function troubleOf(error: Error): string {
  const advice = isFull(error) ? ': raise max_connections, or lower connection_limit of the hosts' : ''
  return `the database cannot be reached: ${error.message}${advice}`
}
