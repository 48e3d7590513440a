import { breaking } from '../../../failures/index.ts'
import type { Plan } from '../module-plan.ts'

/** @throws {Failure} `breaking` */
export function refuseBreaking(plans: readonly Plan[]): void {
  const names = namesOfBreaking(plans)
  if (names === '') return
  throw breaking({ names })
}

/** `api-cart 1.1.0 and api-purchase 2.0.0`; empty if there is no breaking change. */
export const namesOfBreaking = (plans: readonly Plan[]) =>
  plans
    .filter((plan) => plan.breaking.length > 0)
    .map(({ id, version }) => `${id} ${version}`)
    .join(' and ')
