import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Latest } from './probe.ts'

/** No answer may be later than this, in milliseconds, on a machine that has a CPU for the host. */
const LIMIT = 100

export interface Phase extends Latest {
  readonly name: string
  /** How many times its CPU time a piece of work took meanwhile. */
  readonly slowdown: number
}

const file = new URL('probe.ts', import.meta.url)

/** Watches how late a host answers /health/live. */
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

  /** Does `work`, and a little more: how late was the host meanwhile? */
  async during(name: string, work: () => Promise<unknown>): Promise<void> {
    await this.#latest()
    await work()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const phase = { name, ...(await this.#latest()) }
    this.#onPhase(phase)
    const allowed = LIMIT * phase.slowdown
    if (phase.own > allowed)
      this.failures.push(
        `${name}: /health/live was answered ${Math.round(phase.host)} ms late, ${Math.round(phase.own)} ms later than by a ` +
          `bare server, where ${Math.round(allowed)} ms are allowed`,
      )
    if (phase.asked === 0) this.failures.push(`${name}: nothing was asked`)
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
