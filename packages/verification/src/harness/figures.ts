/** Counts by plain names: `writes acknowledged`. */
export class Figures {
  readonly #values: Record<string, number> = {}
  /** The names of those whose largest value counts, not the sum. */
  readonly #largest = new Set<string>()

  get values(): Readonly<Record<string, number>> {
    return this.#values
  }

  of(name: string): number {
    return this.#values[name] ?? 0
  }

  count(name: string, more = 1): void {
    this.#values[name] = this.of(name) + more
  }

  /** Keeps the largest value, also of several rounds. */
  largest(name: string, value: number): void {
    this.#largest.add(name)
    this.#values[name] = Math.max(value, this.#values[name] ?? value)
  }

  merge(other: Figures): void {
    for (const [name, value] of Object.entries(other.#values)) {
      if (other.#largest.has(name)) this.largest(name, value)
      else this.count(name, value)
    }
  }
}
