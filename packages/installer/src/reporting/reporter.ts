/** How the installer speaks to who runs it: the command's terminal, or what takes its place. */
export interface Reporter {
  /** Whether plans are noted with all details. */
  readonly verbose: boolean
  /** Whether a person can reply. */
  readonly interactive: boolean
  /** Progress, plans and warnings, in sentences for people. */
  note(text: string): void
  /**
   * Asks a yes-or-no question.
   * @returns undefined if nobody replies in time: nobody may keep the lock of the application
   */
  confirm(question: string): Promise<boolean | undefined>
  /** Runs `work`, and may show meanwhile what is being done. */
  during<Result>(text: string, work: () => Promise<Result>): Promise<Result>
}
