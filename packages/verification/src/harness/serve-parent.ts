import { readFileSync } from 'node:fs'
import { GCProfiler } from 'node:v8'

/** A running server. */
export interface Serving {
  readonly url: string
  close(): Promise<unknown>
}

/** What the process has used so far. */
export interface Usage {
  /** CPU time, in microseconds. */
  readonly cpu: number
  /** Bytes of its JavaScript heap, since the first question. */
  readonly allocated: number
  /** Bytes on their way to a disk, on Linux. */
  readonly written: number
}

/**
 * Makes this process a server for its parent. The first message has the options, and the response is
 * the `url`. The response to every further message is the `Usage`. The process ends when the parent
 * disconnects.
 */
export function serveParent<Options>(start: (options: Options) => Promise<Serving>): void {
  let serving: Promise<Serving> | undefined
  let allocations: Allocations | undefined
  process.on('message', (options: Options) => {
    if (serving) {
      const { user, system } = process.cpuUsage()
      allocations ??= new Allocations()
      process.send?.({
        cpu: user + system,
        allocated: allocations.sum(),
        written: writtenBytes(),
      } satisfies Usage)
      return
    }
    serving = start(options)
    serving.then(({ url }) => process.send?.({ url }))
  })
  process.once('disconnect', () => serving?.then((server) => server.close()))
}

/** Sums up the growth of the heap between garbage collections. */
class Allocations {
  #profiler = this.#begin()
  #used = process.memoryUsage().heapUsed
  #sum = 0

  sum(): number {
    for (const { beforeGC, afterGC } of this.#profiler.stop().statistics) {
      this.#sum += beforeGC.heapStatistics.usedHeapSize - this.#used
      this.#used = afterGC.heapStatistics.usedHeapSize
    }
    this.#profiler = this.#begin()
    const { heapUsed } = process.memoryUsage()
    this.#sum += heapUsed - this.#used
    this.#used = heapUsed
    return this.#sum
  }

  #begin(): GCProfiler {
    const profiler = new GCProfiler()
    profiler.start()
    return profiler
  }
}

function writtenBytes(): number {
  try {
    return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return 0
  }
}
