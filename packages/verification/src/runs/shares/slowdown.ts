import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** The largest accepted slowdown: times on a slower machine mean nothing. */
const MOST = 4

const file = new URL('../responsive/probe.ts', import.meta.url)

/** Measures the lack of CPU: a process does a small piece of work a hundred times per second. */
export class Slowdown {
  readonly #process: ChildProcess

  private constructor(child: ChildProcess) {
    this.#process = child
  }

  static async start(): Promise<Slowdown> {
    const child = fork(file, ['bare'])
    await once(child, 'message')
    return new Slowdown(child)
  }

  /** Elapsed time of the work since the last call, divided by its CPU time: 1 to 4. */
  async take(): Promise<number> {
    this.#process.send({})
    const [{ slowdown }] = await once(this.#process, 'message')
    return Math.min(MOST, slowdown)
  }

  stop(): void {
    this.#process.kill()
  }
}
