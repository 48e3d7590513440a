import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Sql } from '@mortise/module-sdk'
import { assertFewRows } from '../port/read-limit.ts'
import { tooLong } from '../port/within.ts'
import type { ReadOrder, ReadPiece } from './read-thread.ts'
import { deserializeError } from './serialized-error.ts'

/** Concurrent reads of many rows: more than one, so that a slow one does not block all others. */
const MOST_THREADS = 2

/**
 * SQLite restarts its log only while nobody reads it. So once a read has taken this long, in
 * milliseconds, all threads pause for a COMMIT or two.
 */
const LONGEST = 5_000
const REST = 20

const script = new URL(`read-thread${extname(import.meta.filename)}`, import.meta.url)

/** A thread with a connection of its own. Runs one read at a time. */
export class ReadThread {
  readonly #worker: Worker
  #waiting: PromiseWithResolvers<ReadPiece> | undefined
  /** The reason why it cannot be used any more. */
  ended: Error | undefined

  constructor(file: string) {
    this.#worker = new Worker(script, { workerData: { file }, execArgv: [] })
    this.#worker.unref()
    this.#worker.on('message', (piece: ReadPiece) => this.#waiting?.resolve(piece))
    this.#worker.once('error', (error) => this.#end(error))
    this.#worker.once('exit', () => this.#end(new Error('the thread that reads has ended')))
  }

  report(kind: 'begin' | 'end' | 'schemaChanged'): void {
    this.#worker.postMessage({ kind } satisfies ReadOrder)
  }

  /** @throws {DatabaseError} as `Connection` does, and `refused` for too many rows */
  async read<Row>({ strings, values }: Sql, want: 'rows' | 'first'): Promise<Row[]> {
    const rows: Row[] = []
    let piece = await this.#ask({ kind: 'read', strings: [...strings], values, want })
    for (;;) {
      for (const row of piece.rows) rows.push(withBuffers(row as Record<string, unknown>) as Row)
      if (piece.isLast) break
      piece = await this.#ask({ kind: 'more' })
    }
    assertFewRows(rows.length, strings.join('?'))
    return rows
  }

  async close(reason: Error): Promise<void> {
    this.#end(reason)
    this.#worker.ref()
    await this.#worker.terminate()
  }

  async #ask(order: ReadOrder) {
    if (this.ended !== undefined) throw this.ended
    this.#waiting = Promise.withResolvers()
    // Only an awaited read keeps the process alive.
    this.#worker.ref()
    this.#worker.postMessage(order)
    try {
      const piece = await this.#waiting.promise
      if ('error' in piece) throw deserializeError(piece.error)
      return piece
    } finally {
      this.#waiting = undefined
      if (this.ended === undefined) this.#worker.unref()
    }
  }

  #end(error: Error): void {
    this.ended ??= error
    this.#waiting?.reject(this.ended)
  }
}

/** A message makes a Uint8Array of a Buffer. */
function withBuffers(row: Record<string, unknown>): unknown {
  for (const name in row) {
    const value = row[name]
    if (value instanceof Uint8Array) row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return row
}

/** A small pool of threads, started on demand. */
export class ReadThreads {
  readonly #file: string
  readonly #threads = new Set<ReadThread>()
  readonly #idle: ReadThread[] = []
  readonly #queue: PromiseWithResolvers<ReadThread>[] = []
  #busy = 0
  #isResting = false
  /** The last time without any read, by `performance.now()`. */
  #restedAt = 0
  #closed: Error | undefined

  constructor(file: string) {
    this.#file = file
  }

  /**
   * Runs `work` with exclusive use of a thread; later calls wait for one.
   * @param limit the longest wait, in milliseconds
   */
  async with<Result>(work: (thread: ReadThread) => Promise<Result>, limit?: number): Promise<Result> {
    if (this.#closed !== undefined) throw this.#closed
    const thread = await this.#next(limit)
    try {
      return await work(thread)
    } finally {
      this.#giveBack(thread)
    }
  }

  async #next(limit: number | undefined): Promise<ReadThread> {
    const waiting = Promise.withResolvers<ReadThread>()
    this.#queue.push(waiting)
    this.#serve()
    if (limit === undefined) return waiting.promise
    const giveUp = () => {
      const at = this.#queue.indexOf(waiting)
      if (at === -1) return
      this.#queue.splice(at, 1)
      waiting.reject(tooLong(limit))
    }
    const timer = setTimeout(giveUp, limit)
    try {
      return await waiting.promise
    } finally {
      clearTimeout(timer)
    }
  }

  /** Call it after a schema change. */
  schemaChanged(): void {
    for (const thread of this.#threads) thread.report('schemaChanged')
  }

  /** Current and later reads reject with `reason`. */
  async close(reason: Error): Promise<void> {
    this.#closed ??= reason
    for (const { reject } of this.#queue.splice(0)) reject(reason)
    await Promise.all(Array.from(this.#threads, (thread) => thread.close(reason)))
  }

  #serve(): void {
    if (this.#busy === 0) this.#restedAt = performance.now()
    else if (performance.now() - this.#restedAt > LONGEST) this.#isResting = true
    while (this.#queue.length > 0 && !this.#isResting) {
      const thread = this.#idle.pop() ?? (this.#threads.size < MOST_THREADS ? this.#begin() : undefined)
      if (thread === undefined) return
      this.#busy += 1
      this.#queue.shift()?.resolve(thread)
    }
  }

  #begin(): ReadThread {
    const thread = new ReadThread(this.#file)
    this.#threads.add(thread)
    return thread
  }

  #giveBack(thread: ReadThread): void {
    this.#busy -= 1
    if (thread.ended === undefined) this.#idle.push(thread)
    else this.#threads.delete(thread)
    if (!this.#isResting) this.#serve()
    else if (this.#busy === 0) {
      setTimeout(() => {
        this.#isResting = false
        this.#serve()
      }, REST)
    }
  }
}
