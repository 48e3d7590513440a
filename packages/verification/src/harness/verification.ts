/** A promise of the product, and how it is tried. */
export interface Verification {
  /** What holds, as one plain sentence. */
  readonly promise: string
  /**
   * Runs rounds until the minutes are over or the signal is aborted, at least one round; 0 minutes are the slice that
   * CI runs. What is random comes from the seed.
   */
  run(options: RunOptions): Promise<Outcome>
}

export interface RunOptions {
  readonly seed: number
  readonly minutes: number
  readonly signal: AbortSignal
  onProgress(text: string): void
  /** The URL of a PostgreSQL server. It is started when this is first called, unless APP_TEST_DATABASE_URL names one. */
  postgres(): Promise<string>
}

export interface Outcome {
  /** What was counted, by plain names: `writes acknowledged`. */
  readonly figures: Readonly<Record<string, number>>
  /** What did not hold; empty where all did. */
  readonly failures: readonly string[]
  /** Why this machine cannot try it. */
  readonly skipped?: string
}
