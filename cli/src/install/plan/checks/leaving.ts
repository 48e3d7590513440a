import type { Lock } from '@mortise/host'
import { Failure } from '../../../failures/index.ts'
import type { HostPlan } from '../host-plan.ts'
import { checkNotRequired } from './not-required.ts'

/**
 * The modules to disable for a host.
 * @throws {Failure} if that was not requested, or other modules require them
 */
export async function modulesToDisable(
  { to, outside }: HostPlan,
  lock: Lock,
  directory: string,
  disableIncompatible = false,
): Promise<string[]> {
  const ids = outside.map(({ id }) => id)
  if (ids.length > 0 && !disableIncompatible) {
    const needs = outside.map((module) => `${module.id} ${module.version} needs ${module.needs}`)
    throw new Failure(
      'refused',
      'host-range',
      `The host ${to} is refused: ${needs.join(', ')}.`,
      `Upgrade them first (app module-upgrade ${ids.join(' ')}), or switch them off: in the same change with "app host-upgrade --disable-incompatible", or before it with "app module-disable".`,
    )
  }
  await checkNotRequired(directory, lock, ids, 'disabled')
  return ids
}
