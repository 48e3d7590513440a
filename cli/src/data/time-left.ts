/** Estimates from the rows done so far how long the others take. */
export class TimeLeft {
  readonly #begun = performance.now()
  readonly #total: number
  #done = 0

  constructor(total: number) {
    this.#total = total
  }

  add(rows: number): void {
    this.#done += rows
  }

  /** At least 1; undefined before the first rows are done. */
  get seconds(): number | undefined {
    if (this.#done === 0) return undefined
    const left = ((performance.now() - this.#begun) / this.#done) * (this.#total - this.#done)
    return Math.max(1, Math.ceil(left / 1_000))
  }
}
