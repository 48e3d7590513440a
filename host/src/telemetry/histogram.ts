import type { Sample } from './metric-family.ts'

/** Counts values by size. Called on the way of every request: a value costs a few comparisons. */
export class Histogram {
  readonly #bounds: readonly number[]
  /** By bound; the last one is of what is larger than all. */
  readonly #counts: Float64Array
  #sum = 0

  /** @param bounds the largest value of each bucket, ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let index = 0
    while (index < bounds.length && value > (bounds[index] as number)) index += 1
    ;(this.#counts[index] as number) += 1
    this.#sum += value
  }

  samples(labels: Readonly<Record<string, string>> = {}): Sample[] {
    let count = 0
    const buckets = Array.from(this.#counts, (own, index) => {
      count += own
      const le = String(this.#bounds[index] ?? '+Inf')
      return { suffix: '_bucket', labels: { ...labels, le }, value: count }
    })
    return [
      ...buckets,
      { suffix: '_sum', labels, value: this.#sum },
      { suffix: '_count', labels, value: count },
    ]
  }
}
