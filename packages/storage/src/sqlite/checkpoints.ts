import { once } from 'node:events'
import { statSync } from 'node:fs'
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type SqliteDatabase from 'better-sqlite3'
import { deserializeError, type SerializedError } from './serialized-error.ts'

/** From this many pages in the log on a checkpoint runs. */
export const CHECKPOINT_PAGES = 4_000
/**
 * A larger log is emptied, in bytes. The thread does that too: a COMMIT would block the event loop
 * for it, for hundreds of milliseconds after a long backup.
 */
const LARGEST_LOG = 32 * 1024 * 1024
/**
 * After a failure the next try waits for this many milliseconds, and for at least this many times
 * the duration of the failed one.
 */
const REST_MS = 1_000
const REST_FACTOR = 20

/** PASSIVE writes the log back; TRUNCATE empties its file too, unless others read it. */
export type CheckpointMode = 'PASSIVE' | 'TRUNCATE'

/** Whether it was busy, the pages in the log, and those of them already in the file. */
export type CheckpointCounts = [busy: number, pages: number, done: number]

/** What the thread replies to a message. */
export type CheckpointReply = { readonly counts: CheckpointCounts } | { readonly error: SerializedError }

const script = new URL(`checkpoint-thread${extname(import.meta.filename)}`, import.meta.url)

/**
 * Runs the checkpoints of SQLite's write-ahead log, in a thread beside the event loop. SQLite would
 * run them within a COMMIT: its callers would wait, and nobody would notice a failure. Commits stay
 * safe in the log meanwhile, which grows.
 */
export class Checkpoints {
  readonly #database: SqliteDatabase.Database
  readonly #exclusive: <Result>(work: () => Promise<Result>) => Promise<Result>
  readonly #onChange: (failure: Error | undefined) => void
  readonly #checkpoint: (mode: CheckpointMode) => Promise<CheckpointCounts>
  readonly #look: SqliteDatabase.Statement
  #worker: Worker | undefined
  #failure: Error | undefined
  #running: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #isStopped = false
  /** Others read from the log: the next try comes when it has this many pages, or began again. */
  #blockedUntil = 0

  constructor(
    database: SqliteDatabase.Database,
    options: {
      /** Runs work while nobody writes. */
      readonly exclusive: <Result>(work: () => Promise<Result>) => Promise<Result>
      /**
       * Called with the error when checkpoints begin to fail, and without one when they succeed
       * again.
       */
      readonly onChange: (failure: Error | undefined) => void
      readonly checkpoint?: (mode: CheckpointMode) => Promise<CheckpointCounts>
    },
  ) {
    this.#database = database
    this.#exclusive = options.exclusive
    this.#onChange = options.onChange
    this.#checkpoint = options.checkpoint ?? ((mode) => this.#inThread(mode))
    this.#look = database.prepare('PRAGMA wal_checkpoint(NOOP)').raw()
  }

  /** The error of the last checkpoint; undefined if it succeeded. */
  get failure(): Error | undefined {
    return this.#failure
  }

  /** The size of the log, in bytes. */
  get bytes(): number {
    return statSync(`${this.#database.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Begins a checkpoint if one is due. Call it outside of a transaction. */
  run(): void {
    if (this.#running !== undefined || this.#retry !== undefined || this.#isStopped) return
    this.#running = this.#tryOne().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when none runs, and none will run. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#retry)
    await this.#running
    await this.#worker?.terminate()
  }

  /**
   * Writes the whole log back and empties it, unless others read it. Call it after `stop`.
   * @throws {Error}
   */
  end(): void {
    this.#database.pragma('wal_checkpoint(TRUNCATE)')
  }

  async #tryOne(): Promise<void> {
    const begun = performance.now()
    try {
      if (!this.#isDue()) return
      await this.#checkpoint('PASSIVE')
      const mode = this.#isLarge() ? 'TRUNCATE' : 'PASSIVE'
      // SQLite starts its log from the beginning only if all of it is written back. Pages written
      // meanwhile are few: they follow while nobody writes.
      const [busy, pages, done] = await this.#exclusive(() => this.#checkpoint(mode))
      this.#blockedUntil = busy || done < pages ? pages + CHECKPOINT_PAGES : 0
      this.#report(undefined)
    } catch (error) {
      if (this.#isStopped) return
      const rest = Math.max(REST_MS, (performance.now() - begun) * REST_FACTOR)
      this.#retry = setTimeout(() => {
        this.#retry = undefined
        this.run()
      }, rest).unref()
      this.#report(error as Error)
    }
  }

  #isDue(): boolean {
    if (this.#failure !== undefined) return true
    const [, pages, done] = this.#look.get() as CheckpointCounts
    if (pages < this.#blockedUntil - CHECKPOINT_PAGES) this.#blockedUntil = 0
    return (pages - done >= CHECKPOINT_PAGES || this.#isLarge()) && pages >= this.#blockedUntil
  }

  #isLarge(): boolean {
    return this.bytes > LARGEST_LOG
  }

  /** @throws {Error} also if the thread cannot start, or ends */
  async #inThread(mode: CheckpointMode): Promise<CheckpointCounts> {
    this.#worker ??= new Worker(script, { workerData: { file: this.#database.name }, execArgv: [] })
    const worker = this.#worker
    const reply = once(worker, 'message')
    worker.ref()
    worker.postMessage(mode)
    try {
      const [message] = (await reply) as [CheckpointReply]
      if ('error' in message) throw deserializeError(message.error)
      return message.counts
    } catch (error) {
      // An error of its own has ended it; a next try gets another one.
      if (worker.threadId === -1) this.#worker = undefined
      throw error
    } finally {
      // Only a running checkpoint keeps the process alive.
      worker.unref()
    }
  }

  #report(failure: Error | undefined): void {
    const isChange = (failure === undefined) !== (this.#failure === undefined)
    this.#failure = failure
    if (isChange) this.#onChange(failure)
  }
}
