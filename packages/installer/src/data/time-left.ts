/**
 * Estimates how long the other rows take. It measures from the first hundredth on: before that are
 * small tables, which take long for their rows.
 */
export class TimeLeft {
  readonly #total: number
  #done = 0
  #from: { readonly time: number; readonly done: number } | undefined

  constructor(total: number) {
    this.#total = total
  }

  add(rows: number): void {
    this.#done += rows
    if (this.#done * 100 >= this.#total) this.#from ??= { time: performance.now(), done: this.#done }
  }

  /** At least 1; undefined if it is not known yet. */
  get seconds(): number | undefined {
    if (this.#from === undefined || this.#done === this.#from.done) return undefined
    const { time, done } = this.#from
    const each = (performance.now() - time) / (this.#done - done)
    return Math.max(1, Math.ceil((each * (this.#total - this.#done)) / 1_000))
  }
}
