import { statSync } from 'node:fs'
import type SqliteDatabase from 'better-sqlite3'

/** From so many pages on the log is written back into the database file: as many as SQLite itself would wait for. */
const PAGES = 1_000
/** After a failure the next try waits for so long, in milliseconds, and for so many times as long as that one has taken. */
const REST_MS = 1_000
const REST_FACTOR = 20

/** Whether it was busy, the pages in the log, and how many of those are in the file. */
type Counts = [busy: number, pages: number, done: number]

/**
 * Writes the write-ahead log of SQLite back into the database file, between transactions. SQLite would do so within a
 * COMMIT: the callers of that would wait for it, and nobody would hear that it fails. What is committed is safe in the log
 * meanwhile, which grows.
 */
export class Checkpoints {
  readonly #database: SqliteDatabase.Database
  readonly #onChange: (failure: Error | undefined) => void
  readonly #look: SqliteDatabase.Statement
  readonly #write: SqliteDatabase.Statement
  #failure: Error | undefined
  #retry: NodeJS.Timeout | undefined
  /** Another process reads what is in the log: it is tried again when the log has so many pages. */
  #pinned = 0

  /** @param onChange called with the error where it begins to fail, and without once it passes again */
  constructor(database: SqliteDatabase.Database, onChange: (failure: Error | undefined) => void) {
    this.#database = database
    this.#onChange = onChange
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)').raw()
    this.#write = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw()
  }

  /** Why it fails at present; undefined while it passes. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The size of the log, in bytes. */
  get bytes(): number {
    return statSync(`${this.#database.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Writes the log back where it is time for it. To be called outside of a transaction. */
  run(): void {
    if (this.#retry !== undefined) return
    const begun = performance.now()
    try {
      if (!this.#isDue()) return
      const [, pages, done] = this.#write.get() as Counts
      this.#pinned = done < pages ? pages + PAGES : 0
      this.#tell(undefined)
    } catch (error) {
      const rest = Math.max(REST_MS, (performance.now() - begun) * REST_FACTOR)
      this.#retry = setTimeout(() => {
        this.#retry = undefined
        this.run()
      }, rest).unref()
      this.#tell(error as Error)
    }
  }

  /** Writes all of it back and empties it, as far as others do not read it. @throws {Error} */
  end(): void {
    clearTimeout(this.#retry)
    this.#database.pragma('wal_checkpoint(TRUNCATE)')
  }

  #isDue(): boolean {
    if (this.#failure !== undefined) return true
    const [, pages, done] = this.#look.get() as Counts
    return pages - done >= PAGES && pages >= this.#pinned
  }

  #tell(failure: Error | undefined): void {
    const isChange = (failure === undefined) !== (this.#failure === undefined)
    this.#failure = failure
    if (isChange) this.#onChange(failure)
  }
}
