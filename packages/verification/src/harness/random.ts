/** Random numbers that are the same for the same seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 (included) to 1 (excluded). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** An integer between the two, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  oneOf<Choice>(choices: readonly Choice[]): Choice {
    return choices[this.between(0, choices.length - 1)] as Choice
  }

  /** One of `choices`, by weight. */
  weighted<Choice>(choices: readonly (readonly [weight: number, choice: Choice])[]): Choice {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    return (choices.at(-1) as readonly [number, Choice])[1]
  }
}
