import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** The most that is believed: a machine that is slower than that is not one on which a time says anything. */
const MOST = 4

const file = new URL('../responsive/probe.ts', import.meta.url)

/** How much the machine slows its processes for want of a CPU: one of them does a small piece of work a hundred times in a second. */
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

  /** How many times its CPU time a piece of work has taken since this was last asked: 1 to 4. */
  async take(): Promise<number> {
    this.#process.send({})
    const [{ slowdown }] = await once(this.#process, 'message')
    return Math.min(MOST, slowdown)
  }

  stop(): void {
    this.#process.kill()
  }
}
