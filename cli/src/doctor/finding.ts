/** A problem that the doctor found. */
export interface Finding {
  /** Stable, for programs. */
  readonly id: string
  /**
   * `error`: something does not work; `warning`: it works, but needs attention; `info`: no action
   * needed.
   */
  readonly severity: 'error' | 'warning' | 'info'
  /** The problem, and why it matters. */
  readonly message: string
  /** What to do, or what was done. */
  readonly hint: string
  /** For `code-retained`: the number of packages. */
  readonly packages?: number
  readonly fixed: boolean
}

/** A finding with a repair, if there is one without loss. */
export interface FixableFinding extends Omit<Finding, 'fixed'> {
  /** @returns what was done */
  readonly mend?: () => Promise<string>
}

/**
 * One check. A repair between two checks may change the application, so each check reads it again.
 */
export type Check = (directory: string) => Promise<readonly FixableFinding[]>
