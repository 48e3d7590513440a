import { once } from 'node:events'
import { url as debuggerUrl } from 'node:inspector'
import { extname, join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Measured } from './measure-modules.ts'
import type { Place } from './module-places.ts'
import type { Change } from './revert-change.ts'

/** What the thread knows from its start. */
export interface LoopWatchRequest {
  /** Two Int32: one that changes with each heartbeat, and the used heap of the main thread then, in MiB. */
  readonly beats: SharedArrayBuffer
  /** The largest heap of the main thread, in bytes; 0: a module may fill it. */
  readonly heapLimit: number
  readonly limits: typeof limits
  readonly directory: string
  /** The host ends when its event loop is blocked for this many seconds; 0: only for a watched change. */
  readonly blockedSeconds: number
  /** The process ends soon after this one. */
  readonly parent: number | undefined
}

/** To the thread: the change to watch from now on, or a request for everything seen so far. */
export type ToLoopWatchdog = { readonly follow: Change | undefined } | 'over' | 'measure'

/** From the thread: `over` is the end of a request for everything seen so far. */
export type FromLoopWatchdog = 'ready' | 'over' | { readonly measured: Measured | undefined } | Place

/** How long a module may block the event loop while its change is watched, in milliseconds. */
export const limits = {
  /** The change is reverted when the code returns. */
  blocked: 5_000,
  /** The code does not return: the process ends with the change reverted. */
  hung: 30_000,
} as const

const BEAT = 250
const MEGABYTE = 1024 * 1024

export interface LoopWatchOptions {
  readonly directory: string
  /** See `LoopWatchRequest`. */
  readonly blockedSeconds?: number
  readonly parent?: number | undefined
}

/**
 * Detects code of a module that blocks the event loop, by a thread that ends the process then: for
 * as long as the host lives after `begin`, and otherwise while it follows a change.
 */
export class EventLoopWatch {
  readonly #options: LoopWatchOptions
  #isLasting = false
  #timer: NodeJS.Timeout | undefined
  #worker: Worker | undefined
  #onBlocked: ((place: Place) => void) | undefined
  #over = Promise.withResolvers<void>()
  #measuring: PromiseWithResolvers<Measured | undefined> | undefined

  constructor(options: LoopWatchOptions) {
    this.#options = options
  }

  /** Watches until `end`. Resolves when the thread runs: it cannot start while this one is blocked. */
  async begin(): Promise<void> {
    this.#isLasting = true
    const worker = this.#start()
    if (worker !== undefined) await Promise.race([once(worker, 'message'), once(worker, 'exit')])
  }

  /**
   * Watches a change instead of the previous one; undefined: none.
   * @param onBlocked called once the event loop continues
   */
  follow(change: Change | undefined, onBlocked?: (place: Place) => void): void {
    this.#onBlocked = onBlocked
    if (change === undefined && !this.#isLasting) this.end()
    else this.#post({ follow: change })
  }

  /** Resolves when everything seen so far is reported. */
  async caughtUp(): Promise<void> {
    if (this.#worker === undefined) return
    this.#over = Promise.withResolvers<void>()
    this.#post('over')
    await this.#over.promise
  }

  /** What takes the main thread, from now on for two seconds; undefined with a debugger attached. */
  measure(): Promise<Measured | undefined> {
    if (this.#measuring === undefined) {
      this.#measuring = Promise.withResolvers<Measured | undefined>()
      this.#post('measure')
    }
    const { promise } = this.#measuring
    if (this.#worker === undefined) this.#measured(undefined)
    return promise
  }

  #measured(result: Measured | undefined): void {
    this.#measuring?.resolve(result)
    this.#measuring = undefined
  }

  end(): void {
    clearInterval(this.#timer)
    void this.#worker?.terminate()
    this.#worker = undefined
    this.#over.resolve()
    this.#measured(undefined)
  }

  #post(message: ToLoopWatchdog): void {
    this.#start()?.postMessage(message)
  }

  #start(): Worker | undefined {
    // A debugger may pause this process for any time.
    if (this.#worker !== undefined || debuggerUrl() !== undefined) return this.#worker
    const { directory, blockedSeconds = 0, parent } = this.#options
    const beats = new SharedArrayBuffer(8)
    const counter = new Int32Array(beats)
    this.#timer = setInterval(() => {
      Atomics.store(counter, 1, getHeapStatistics().used_heap_size / MEGABYTE)
      Atomics.add(counter, 0, 1)
    }, BEAT).unref()
    const heapLimit = this.#isLasting ? getHeapStatistics().heap_size_limit : 0
    const workerData: LoopWatchRequest = { beats, heapLimit, limits, directory, blockedSeconds, parent }
    const file = join(import.meta.dirname, `loop-watchdog${extname(import.meta.filename)}`)
    const worker = new Worker(file, { workerData })
    worker.unref()
    worker.on('message', (said: FromLoopWatchdog) => {
      if (said === 'ready') return
      if (said === 'over') this.#over.resolve()
      else if ('measured' in said) {
        this.#measured(said.measured)
        if (!this.#isLasting && this.#onBlocked === undefined) this.end()
      } else this.#onBlocked?.(said)
    })
    // Without the thread, everything else is still watched.
    const lost = () => {
      if (this.#worker === worker) this.end()
    }
    worker.on('error', lost)
    worker.on('exit', lost)
    this.#worker = worker
    return worker
  }
}
