/** Whether something may be seen. */
export type Allowed = (state: string) => boolean

interface Sighting {
  readonly begun: number
  readonly ended: number
  readonly subject: string
  readonly state: string
}

/**
 * What was seen of each subject, against what could be seen at the time. Time is counted in epochs: even ones
 * in which nothing changes, odd ones in which a change is under way. What a change allows is known after it.
 */
export class Timeline {
  readonly #allowed: ReadonlyMap<string, Allowed>[]
  #open: Sighting[] = []
  readonly #onContradiction: (text: string) => void

  constructor(first: ReadonlyMap<string, Allowed>, onContradiction: (text: string) => void) {
    this.#allowed = [first]
    this.#onContradiction = onContradiction
  }

  #epoch = 0

  /** Now, to be kept from the beginning of a request until its answer. */
  get epoch(): number {
    return this.#epoch
  }

  /** @param begun the epoch in which the request began that is answered now */
  saw(begun: number, subject: string, state: string): void {
    const sighting = { begun, ended: this.#epoch, subject, state }
    if (this.#epoch < this.#allowed.length) this.#check(sighting)
    else this.#open.push(sighting)
  }

  /** A change begins. */
  change(): void {
    this.#epoch += 1
  }

  /** A change is over: what could be seen while it went on, and what can be from now on. */
  settle(during: ReadonlyMap<string, Allowed>, afterwards: ReadonlyMap<string, Allowed>): void {
    this.#allowed.push(during, afterwards)
    this.#epoch += 1
    for (const sighting of this.#open.splice(0)) this.#check(sighting)
  }

  #check({ begun, ended, subject, state }: Sighting): void {
    for (let epoch = begun; epoch <= ended; epoch++) {
      if (this.#allowed[epoch]?.get(subject)?.(state)) return
    }
    this.#onContradiction(
      `${subject} was seen as "${state}" by a request of the epochs ${begun} to ${ended}, which neither what served before nor after is`,
    )
  }
}
