import { url as debuggerUrl } from 'node:inspector'
import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Change } from './revert-change.ts'

/** The location at which a module blocks the event loop. */
export interface Place {
  readonly module: string
  /** A file of its package and the line: `index.js:12`. */
  readonly at: string
}

export interface LoopWatchRequest {
  /** An Int32 that changes with each heartbeat. */
  readonly beats: SharedArrayBuffer
  readonly limits: typeof limits
  readonly directory: string
  readonly change: Change
}

/** How long a module may block the event loop while its change is watched, in milliseconds. */
export const limits = {
  /** The change is reverted when the code returns. */
  blocked: 5_000,
  /** The code does not return: the process ends with the change reverted. */
  hung: 30_000,
} as const

const BEAT = 250

/** Detects code of a fresh module that blocks the event loop. */
export class EventLoopWatch {
  readonly #worker: Worker | undefined
  readonly #timer: NodeJS.Timeout
  readonly #over = Promise.withResolvers<void>()

  /** @param onBlocked called once the event loop continues */
  constructor(directory: string, change: Change, onBlocked: (place: Place) => void) {
    const beats = new SharedArrayBuffer(4)
    const counter = new Int32Array(beats)
    this.#timer = setInterval(() => Atomics.add(counter, 0, 1), BEAT).unref()
    // A debugger may pause this process for any time.
    if (debuggerUrl() !== undefined) return
    const workerData: LoopWatchRequest = { beats, limits, directory, change }
    const file = join(import.meta.dirname, `loop-watchdog${extname(import.meta.filename)}`)
    this.#worker = new Worker(file, { workerData })
    this.#worker.unref()
    this.#worker.on('message', (said: Place | 'over') => {
      if (said === 'over') this.#over.resolve()
      else onBlocked(said)
    })
    // Without the thread, everything else is still watched.
    this.#worker.on('error', () => this.#over.resolve())
    this.#worker.on('exit', () => this.#over.resolve())
  }

  /** Resolves when everything seen so far is reported. */
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
