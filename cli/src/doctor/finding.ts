/** Something that is not as it should be. */
export interface Finding {
  /** Stable, for programs. */
  readonly id: string
  /** `error`: something does not work; `warning`: it works, and should be seen to; `info`: nothing needs doing. */
  readonly severity: 'error' | 'warning' | 'info'
  /** What it is, and why that matters. */
  readonly message: string
  /** What to do, or what was done. */
  readonly hint: string
  /** Of `code-retained`: how many packages. */
  readonly packages?: number
  readonly fixed: boolean
}

/** A finding and how to mend it, where that loses nothing. */
export interface FixableFinding extends Omit<Finding, 'fixed'> {
  /** @returns what was done */
  readonly mend?: () => Promise<string>
}

/** Looks at one thing. Mending may have changed the application between two checks: each reads it anew. */
export type Check = (directory: string) => Promise<readonly FixableFinding[]>
