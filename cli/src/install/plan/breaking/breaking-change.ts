/** Stable, for programs. packages/module-sdk/README.md explains each one. */
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

/** Something that users of a module may have relied on, and that the other version lacks. */
export interface BreakingChange {
  readonly module: string
  readonly code: (typeof breakingCodes)[number]
  /** A sentence. */
  readonly message: string
}
