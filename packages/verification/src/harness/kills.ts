import type { HostGroup } from './host-group.ts'
import type { Random } from './random.ts'
import type { Round } from './round.ts'

/** Kills one of the hosts after some responses, starts it again, and so on until the end of the load. */
export class Kills {
  readonly #hosts: HostGroup
  readonly #round: Round
  readonly #random: Random
  readonly #every: readonly [least: number, most: number]
  #left: number
  #killing: Promise<void> | undefined
  /** Whether a killed host starts again. */
  isStarting = false

  /** @param every the responses between two kills, at least and at most */
  constructor(hosts: HostGroup, round: Round, every: readonly [least: number, most: number]) {
    this.#hosts = hosts
    this.#round = round
    this.#random = round.random
    this.#every = every
    this.#left = this.#random.between(...every)
  }

  /** Call it for each response. */
  responded(): void {
    this.#left -= 1
    if (this.#left === 0) this.#killing = this.#kill()
  }

  /** No more kills; resolves when all hosts serve. */
  async end(): Promise<void> {
    this.#left = Number.POSITIVE_INFINITY
    await this.#killing
  }

  async #kill(): Promise<void> {
    this.#round.count('hosts killed')
    this.isStarting = true
    try {
      await this.#hosts.any(this.#random).killAndStart()
      if (this.#left <= 0) this.#left = this.#random.between(...this.#every)
    } catch (error) {
      this.#round.fail(`a killed host did not start again: ${error}`)
    }
    this.isStarting = false
  }
}
