import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Round } from './round.ts'

/** The process beside a host: see there. */
export const probeFile = new URL('health-probe.ts', import.meta.url)

/** Measures the lack of CPU: a bare server does a small piece of work a hundred times per second. */
export class Slowdown {
  readonly #process: ChildProcess
  /** The bare server, as a control for the delays of a host. */
  readonly url: string

  private constructor(child: ChildProcess, port: number) {
    this.#process = child
    this.url = `http://127.0.0.1:${port}/`
  }

  static async start(round: Round): Promise<Slowdown> {
    const child = fork(probeFile, ['bare'])
    round.teardown(() => child.kill())
    const [{ port }] = await once(child, 'message')
    return new Slowdown(child, port)
  }

  /** Elapsed time of the work since the last call, divided by its CPU time: 1 or more. */
  async take(): Promise<number> {
    this.#process.send({})
    const [{ slowdown }] = await once(this.#process, 'message')
    return slowdown
  }
}
