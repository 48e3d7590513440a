/** Whether a state is valid. */
export type Allowed = (state: string) => boolean

/** The state of each subject. */
export type Served = ReadonlyMap<string, string>

export const exactly = (served: Served): ReadonlyMap<string, Allowed> => either(served, served)

export const either = (before: Served, after: Served): ReadonlyMap<string, Allowed> =>
  new Map<string, Allowed>(
    [...before].map(([subject, state]) => [subject, (seen) => seen === state || seen === after.get(subject)]),
  )

interface Sighting {
  readonly begun: number
  readonly ended: number
  readonly subject: string
  readonly state: string
}

/**
 * Compares the observed states of each subject with the valid ones of that time. Time is counted in
 * epochs: even ones without a change, odd ones during a change. The valid states of a change are known
 * after it.
 */
export class Timeline {
  readonly #allowed: ReadonlyMap<string, Allowed>[]
  #open: Sighting[] = []
  #epoch = 0
  readonly #onContradiction: (text: string) => void

  constructor(first: ReadonlyMap<string, Allowed>, onContradiction: (text: string) => void) {
    this.#allowed = [first]
    this.#onContradiction = onContradiction
  }

  /** The current epoch, to keep from a request until its response. */
  get epoch(): number {
    return this.#epoch
  }

  /** @param begun the epoch of the request */
  saw(begun: number, subject: string, state: string): void {
    const sighting = { begun, ended: this.#epoch, subject, state }
    if (this.#epoch < this.#allowed.length) this.#check(sighting)
    else this.#open.push(sighting)
  }

  /** A change begins. */
  change(): void {
    this.#epoch += 1
  }

  /** A change ends: the valid states during it, and from now on. */
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
