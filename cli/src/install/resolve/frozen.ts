import { frozen } from '../../failures/index.ts'
import { type Lookup, resolveSpec } from './source.ts'

/**
 * Checks that nothing has to be resolved: the lock file exists and names everything requested.
 * @throws {Failure} `frozen`
 */
export function checkFrozen(specs: readonly string[], lookup: Lookup): void {
  const other = specs.find((spec) => !('installed' in resolveSpec(spec, lookup)))
  if (other !== undefined) throw frozen({ reason: `modules.lock.json does not name "${other}"` })
}
