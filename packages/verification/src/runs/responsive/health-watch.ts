import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Latest } from './probe.ts'

/** The time limit for each response, in milliseconds, if the host has a CPU of its own. */
const LIMIT = 100

export interface Phase extends Latest {
  readonly name: string
  /** The elapsed time of a piece of work, divided by its CPU time. */
  readonly slowdown: number
}

const file = new URL('probe.ts', import.meta.url)

/** Measures the delay of /health/live. */
export class HealthWatch {
  readonly #probe: ChildProcess
  readonly #bare: ChildProcess
  readonly #onPhase: (phase: Phase) => void
  readonly failures: string[] = []

  private constructor(probe: ChildProcess, bare: ChildProcess, onPhase: (phase: Phase) => void) {
    this.#probe = probe
    this.#bare = bare
    this.#onPhase = onPhase
  }

  /** @param url of the host */
  static async start(url: string, onPhase: (phase: Phase) => void): Promise<HealthWatch> {
    const bare = fork(file, ['bare'])
    const [{ port }] = await once(bare, 'message')
    const probe = fork(file)
    probe.send({ host: `${url}/health/live`, bare: `http://127.0.0.1:${port}/` })
    return new HealthWatch(probe, bare, onPhase)
  }

  /** Runs `work`, waits a little, and records the delay of the host. */
  async during(name: string, work: () => Promise<unknown>): Promise<void> {
    await this.#latest()
    await work()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const phase = { name, ...(await this.#latest()) }
    this.#onPhase(phase)
    const allowed = LIMIT * phase.slowdown
    if (phase.own > allowed)
      this.failures.push(
        `${name}: /health/live responded ${Math.round(phase.host)} ms late, ${Math.round(phase.own)} ms later than by a ` +
          `bare server, where ${Math.round(allowed)} ms are allowed`,
      )
    if (phase.asked === 0) this.failures.push(`${name}: no probe was sent`)
  }

  stop(): void {
    this.#probe.kill()
    this.#bare.kill()
  }

  async #latest(): Promise<Latest & { slowdown: number }> {
    this.#probe.send({})
    this.#bare.send({})
    const [[latest], [{ slowdown }]] = await Promise.all([
      once(this.#probe, 'message'),
      once(this.#bare, 'message'),
    ])
    return { ...latest, slowdown }
  }
}
