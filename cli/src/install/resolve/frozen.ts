import { frozen } from '../../failures/index.ts'
import { type Lookup, resolveSpec } from './source.ts'

/** @throws {Failure} `frozen` */
export function checkFrozen(specs: readonly string[], lookup: Lookup): void {
  const other = specs.find((spec) => !('installed' in resolveSpec(spec, lookup)))
  if (other !== undefined) throw frozen({ reason: `modules.lock.json does not name "${other}"` })
}
