/** A promise of the product, and its test. */
export interface Verification {
  /** The promise as one plain sentence. */
  readonly promise: string
  /**
   * Runs rounds until the minutes are over or the signal is aborted, but at least `rounds`. 0 minutes
   * and one round are the slice for CI. All randomness comes from the seed.
   */
  run(options: RunOptions): Promise<Outcome>
}

export interface RunOptions {
  readonly seed: number
  readonly minutes: number
  readonly rounds: number
  readonly signal: AbortSignal
  onProgress(text: string): void
  /**
   * The URL of a PostgreSQL server. The first call starts one, unless APP_TEST_DATABASE_URL names
   * one.
   */
  postgres(): Promise<string>
}

export interface Outcome {
  /** Counts by plain names: `writes acknowledged`. */
  readonly figures: Readonly<Record<string, number>>
  /** The promises that did not hold; empty if all did. */
  readonly failures: readonly string[]
  /** Why this machine cannot run it. */
  readonly skipped?: string
}
