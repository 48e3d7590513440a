export interface Finding {
  /** Stable, for programs. */
  readonly id: string
  /** `warning`: it works, but needs attention; `info`: no action needed. */
  readonly severity: 'error' | 'warning' | 'info'
  /** The problem, and why it matters. */
  readonly message: string
  /** What to do, or what was done. */
  readonly hint: string
  /** For `code-retained`: the number of packages. */
  readonly packages?: number
  /** For `vulnerable`. */
  readonly advisory?: Advisory
  readonly fixed: boolean
}

/** A known vulnerability of an installed package. */
export interface Advisory {
  readonly package: string
  readonly version: string
  readonly severity: string
  readonly title: string
  readonly url: string
  /** The lowest newer version without it; null if there is none, absent if the registry did not say. */
  readonly fixed: string | null | undefined
  /** The ids of the modules that bring the package, or `host`. */
  readonly broughtBy: readonly string[]
}

export interface FixableFinding extends Omit<Finding, 'fixed'> {
  /** @returns what was done */
  readonly fix?: () => Promise<string>
}

export type Findings = Generator<FixableFinding, void>
export type AsyncFindings = AsyncGenerator<FixableFinding, void>

/**
 * Each check reads the application again: a repair before it may have changed it.
 * @param quick whether it leaves out what takes as long as reading the database
 */
export type Check = (directory: string, quick: boolean) => AsyncFindings
