import type { LockFile } from '@mortise/host'
import { hostLeavesModules } from '../../../failures/index.ts'
import type { HostPlan } from '../host-plan.ts'
import { checkNotRequired } from './not-required.ts'

/** @throws {Failure} if that was not requested, or other modules require them */
export async function modulesToDisable(
  { to, outside }: HostPlan,
  lock: LockFile,
  directory: string,
  disableIncompatible = false,
): Promise<string[]> {
  const ids = outside.map(({ id }) => id)
  if (ids.length > 0 && !disableIncompatible) {
    const needs = outside.map((module) => `${module.id} ${module.version} needs ${module.needs}`)
    throw hostLeavesModules({ version: to, needs: needs.join(', '), ids: ids.join(' ') })
  }
  await checkNotRequired(directory, lock, ids, 'disabled')
  return ids
}
