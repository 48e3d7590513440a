import { statSync } from 'node:fs'
import type SqliteDatabase from 'better-sqlite3'

/** From this many pages in the log on a checkpoint runs, as in SQLite's default. */
const PAGES = 1_000
/**
 * After a failure the next try waits for this many milliseconds, and for at least this many times
 * the duration of the failed one.
 */
const REST_MS = 1_000
const REST_FACTOR = 20

/** Whether it was busy, the pages in the log, and those of them already in the file. */
type Counts = [busy: number, pages: number, done: number]

/**
 * Runs the checkpoints of SQLite's write-ahead log between transactions. SQLite would run them
 * within a COMMIT: its callers would wait, and nobody would notice a failure. Commits stay safe in
 * the log meanwhile, which grows.
 */
export class Checkpoints {
  readonly #database: SqliteDatabase.Database
  readonly #onChange: (failure: Error | undefined) => void
  readonly #look: SqliteDatabase.Statement
  readonly #write: SqliteDatabase.Statement
  #failure: Error | undefined
  #retry: NodeJS.Timeout | undefined
  /** Another process reads from the log: the next try comes when the log has this many pages. */
  #pinned = 0

  /**
   * @param onChange called with the error when checkpoints begin to fail, and without one when they
   * succeed again
   */
  constructor(database: SqliteDatabase.Database, onChange: (failure: Error | undefined) => void) {
    this.#database = database
    this.#onChange = onChange
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)').raw()
    this.#write = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw()
  }

  /** The error of the last checkpoint; undefined if it succeeded. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The size of the log, in bytes. */
  get bytes(): number {
    return statSync(`${this.#database.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Runs a checkpoint if one is due. Call it outside of a transaction. */
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

  /**
   * Writes the whole log back and empties it, unless others read it.
   * @throws {Error}
   */
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
