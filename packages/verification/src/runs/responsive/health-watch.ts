import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Latest } from '../../harness/health-probe.ts'
import type { Round } from '../../harness/round.ts'
import { probeFile, Slowdown } from '../../harness/slowdown.ts'

/** The time limit for each response, in milliseconds, if the host has a CPU of its own. */
const LIMIT = 100

/** Measures the delay of /health/live. */
export class HealthWatch {
  readonly #round: Round
  readonly #probe: ChildProcess
  readonly #slowdown: Slowdown

  private constructor(round: Round, probe: ChildProcess, slowdown: Slowdown) {
    this.#round = round
    this.#probe = probe
    this.#slowdown = slowdown
  }

  /** @param url of the host */
  static async start(round: Round, url: string): Promise<HealthWatch> {
    const slowdown = await Slowdown.start(round)
    const probe = fork(probeFile)
    round.teardown(() => probe.kill())
    probe.send({ host: `${url}/health/live`, bare: slowdown.url })
    return new HealthWatch(round, probe, slowdown)
  }

  /** Runs `work`, waits a little, and judges the delay of the host. */
  async during(name: string, work: () => Promise<unknown>): Promise<void> {
    await this.#latest()
    await work()
    await pause(100)
    const { host, own, asked, slowdown } = await this.#latest()
    const allowed = LIMIT * slowdown
    this.#round.figures.largest(`${name}: slowest response, ms`, Math.round(host))
    this.#round.log(
      `${name}: ${host.toFixed(0)} ms, own ${own.toFixed(0)} ms, slowdown ${slowdown.toFixed(1)}`,
    )
    if (own > allowed)
      this.#round.fail(
        `${name}: /health/live responded ${Math.round(host)} ms late, ${Math.round(own)} ms later than by a ` +
          `bare server, where ${Math.round(allowed)} ms are allowed`,
      )
    if (asked === 0) this.#round.fail(`${name}: no probe was sent`)
  }

  async #latest(): Promise<Latest & { slowdown: number }> {
    this.#probe.send({})
    const [[latest], slowdown] = await Promise.all([once(this.#probe, 'message'), this.#slowdown.take()])
    return { ...latest, slowdown }
  }
}
