/** Stable, for programs; docs/writing-a-module.md says what each is. */
export const breakingCodes = [
  'route-removed',
  'contract-changed',
  'event-removed',
  'setting-removed',
  'table-changed',
  'access-tightened',
  'input-narrowed',
  'answer-changed',
] as const

/** Something that whoever uses a module may have relied on, and that another version of it does not keep. */
export interface BreakingChange {
  readonly module: string
  readonly code: (typeof breakingCodes)[number]
  /** A sentence. */
  readonly message: string
}
