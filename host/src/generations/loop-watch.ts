import { url as debuggerUrl } from 'node:inspector'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Change } from './revert-change.ts'

/** Where a module holds the event loop. */
export interface Place {
  readonly module: string
  /** A file of its package and the line: `index.js:12`. */
  readonly at: string
}

/** What the thread is given. */
export interface LoopWatchRequest {
  /** An Int32 that changes with each beat. */
  readonly beats: SharedArrayBuffer
  readonly limits: typeof limits
  readonly directory: string
  readonly change: Change
}

/** For how long the code of a module may hold the event loop while its change is watched, in milliseconds. */
export const limits = {
  /** The change is taken back when the code returns. */
  blocked: 5_000,
  /** It does not return: the process ends, with the change taken back. */
  hung: 30_000,
} as const

const BEAT = 250

/** Watches for code of a fresh module that holds the event loop. */
export class EventLoopWatch {
  readonly #worker: Worker | undefined
  readonly #timer: NodeJS.Timeout
  readonly #over = Promise.withResolvers<void>()

  /** @param onBlocked called once the event loop goes on */
  constructor(directory: string, change: Change, onBlocked: (place: Place) => void) {
    const beats = new SharedArrayBuffer(4)
    const counter = new Int32Array(beats)
    this.#timer = setInterval(() => Atomics.add(counter, 0, 1), BEAT).unref()
    // Who debugs this process holds it as they like.
    if (debuggerUrl() !== undefined) return
    const workerData: LoopWatchRequest = { beats, limits, directory, change }
    const file = join(import.meta.dirname, `loop-watchdog${extname(import.meta.filename)}`)
    this.#worker = new Worker(file, { workerData })
    this.#worker.unref()
    this.#worker.on('message', (said: Place | 'over') => {
      if (said === 'over') this.#over.resolve()
      else onBlocked(said)
    })
    // Without it the rest is watched all the same.
    this.#worker.on('error', () => this.#over.resolve())
    this.#worker.on('exit', () => this.#over.resolve())
  }

  /** Resolves when all that was seen until now is told. */
  async caughtUp(): Promise<void> {
    if (this.#worker === undefined) return
    this.#worker.postMessage('over')
    await this.#over.promise
  }

  end(): void {
    clearInterval(this.#timer)
    void this.#worker?.terminate()
  }
}
