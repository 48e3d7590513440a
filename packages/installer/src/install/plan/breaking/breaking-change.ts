import { breaking } from '../../../failures/index.ts'

/** Stable, for programs. packages/module-sdk/README.md explains each one. */
export const breakingCodes = [
  'route-removed',
  'contract-changed',
  'event-removed',
  'setting-removed',
  'table-changed',
  'access-tightened',
  'input-narrowed',
  'response-changed',
] as const

/** Something that users of a module may have relied on, and that the other version lacks. */
export interface BreakingChange {
  readonly module: string
  readonly code: (typeof breakingCodes)[number]
  /** A sentence. */
  readonly message: string
}

interface Breaking {
  readonly id: string
  readonly version: string
  readonly breaking: readonly BreakingChange[]
}

/** `api-cart 1.1.0 and api-purchase 2.0.0`; empty if there is no breaking change. */
export const namesOfBreaking = (plans: readonly Breaking[]) =>
  plans
    .filter((plan) => plan.breaking.length > 0)
    .map(({ id, version }) => `${id} ${version}`)
    .join(' and ')

/** @throws {Failure} `breaking` */
export function refuseBreaking(plans: readonly Breaking[]): void {
  const names = namesOfBreaking(plans)
  if (names === '') return
  throw breaking({ names, details: { breaking: plans.flatMap((plan) => plan.breaking) } })
}
